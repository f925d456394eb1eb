program endless
  use libc
  integer(c_intptr_t) :: before
  integer(c_long) :: ignore
  before = signal(25, ignored)
  do
    ignore = write_bytes(1, 'xxxxxxx ', 8_c_long)
  end do
end program
