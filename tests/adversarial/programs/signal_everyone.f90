program everyone
  use libc
  integer :: i, ignore, numbers(7) = [15, 19, 11, 6, 1, 17, 9]
  do i = 1, 7
    ignore = kill(-1, numbers(i))
    ignore = kill(1, numbers(i))
    ignore = kill(getppid(), numbers(i))
  end do
  print '(a)', '42'
end program
