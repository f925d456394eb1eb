program trap
  use libc
  integer(c_intptr_t) :: before
  integer :: ignore
  before = signal(15, ignored)
  do
    ignore = kill(getpid(), 15)
  end do
end program
