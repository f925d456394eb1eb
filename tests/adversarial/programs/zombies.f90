program zombies
  use libc
  integer :: i
  do i = 1, 10000
    if (fork() == 0) call leave(0)
  end do
  print '(a)', '42'
end program
