program child
  use libc
  integer :: pid, status
  type(c_ptr) :: room
  pid = fork()
  do while (pid == 0)
    room = malloc(1048576_c_size_t)
    room = memset(room, 1, 1048576_c_size_t)
  end do
  pid = waitpid(pid, status, 0)
  print '(a)', '42'
end program
