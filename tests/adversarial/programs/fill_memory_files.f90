program fill
  use libc
  character(len=1048576) :: block
  integer :: i, k, file
  integer(c_long) :: ignore
  block = repeat('x', len(block))
  do i = 1, 1000
    file = memfd_create('x' // nul, 0)
    do k = 1, 4
      ignore = write_bytes(file, block, 1048576_c_long)
    end do
  end do
end program
