program spare
  use libc
  integer :: i, file, ignore
  type(c_ptr) :: room
  file = open_file('/proc/self/oom_score_adj' // nul, writable, 0)
  if (write_bytes(file, '-1000', 5_c_long) < 0) ignore = int(write_bytes(file, '0', 1_c_long))
  do i = 1, 60
    if (fork() /= 0) cycle
    room = malloc(8388608_c_size_t)
    room = memset(room, 1, 8388608_c_size_t)
    exit
  end do
  do
    ignore = pause()
  end do
end program
