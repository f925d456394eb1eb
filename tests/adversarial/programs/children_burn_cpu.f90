program children
  use libc
  integer :: i, ignore
  do i = 1, 8
    if (fork() /= 0) cycle
    do
      ignore = getppid()
    end do
  end do
  print '(a)', '42'
end program
