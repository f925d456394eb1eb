program spin
  use libc
  integer :: i, ignore
  do i = 1, 3
    ignore = fork()
  end do
  do
    ignore = 0
  end do
end program
