program children
  use libc
  integer :: i, ignore
  type(c_ptr) :: room
  do i = 1, 20
    if (fork() /= 0) cycle
    room = malloc(16777216_c_size_t)
    room = memset(room, 1, 16777216_c_size_t)
    exit
  end do
  do
    ignore = pause()
  end do
end program
