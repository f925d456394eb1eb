program main
  implicit none
  integer :: n

  read (*, *) n
  print '(i0)', abs(n - @k@)
end program main
