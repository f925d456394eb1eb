program bytes
  use libc
  integer :: i
  integer(c_long) :: ignore
  do i = 1, 5000
    ignore = write_bytes(1, 'x', 1_c_long)
  end do
end program
