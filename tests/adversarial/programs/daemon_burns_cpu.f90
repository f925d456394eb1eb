program daemon
  use libc
  integer :: ignore
  if (fork() == 0) then
    ignore = setsid()
    if (fork() /= 0) call leave(0)
    do
      ignore = getppid()
    end do
  end if
  print '(a)', '42'
end program
