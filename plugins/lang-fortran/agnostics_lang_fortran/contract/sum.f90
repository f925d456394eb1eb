program sum_of_two
  implicit none
  integer :: a, b
  read *, a, b
  print '(i0)', a + b
end program sum_of_two
