program main
  implicit none
  integer :: n

  read (*, *) n
  print '(i0)', @k@ - n
end program main
