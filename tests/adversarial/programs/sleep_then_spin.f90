program both
  use libc
  integer :: ignore
  ignore = usleep(300000)
  do
    ignore = 0
  end do
end program
