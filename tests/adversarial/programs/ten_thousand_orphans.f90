program orphans
  use libc
  integer :: made, i, pid, status
  made = 0
  do while (made < 10000)
    pid = fork()
    if (pid == 0) then
      do i = 1, 200
        if (fork() == 0) call leave(0)
      end do
      call leave(0)
    else if (pid > 0) then
      pid = waitpid(pid, status, 0)
      made = made + 200
    else
      pid = usleep(1000)
    end if
  end do
  print '(a)', '42'
end program
