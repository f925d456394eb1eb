program asleep
  use libc
  integer :: ignore
  do
    ignore = pause()
  end do
end program
