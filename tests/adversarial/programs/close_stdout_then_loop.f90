program closed
  use libc
  integer :: file, ignore
  do file = 0, 2
    ignore = close_file(file)
  end do
  do
    ignore = 0
  end do
end program
