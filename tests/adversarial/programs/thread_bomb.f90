program bomb
  use libc
  integer :: ignore
  integer(c_long) :: thread
  do
    ignore = pthread_create(thread, c_null_ptr, c_funloc(pause), c_null_ptr)
  end do
end program
