program past
  use libc
  character(len=65536) :: room
  integer(c_long) :: size, got
  size = 0
  do
    got = read_bytes(0, room, 65536_c_long)
    if (got <= 0) exit
    size = size + got
  end do
  print '(i0, a, i0, a)', size, ' ', read_bytes(0, room, 65536_c_long), ' nil'
end program
