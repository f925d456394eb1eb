program bomb
  use libc
  integer :: ignore
  do
    ignore = fork()
  end do
end program
