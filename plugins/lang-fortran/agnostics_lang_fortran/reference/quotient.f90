program main
  implicit none
  integer :: n

  read (*, *) n
  print '(i0)', n / @k@
end program main
