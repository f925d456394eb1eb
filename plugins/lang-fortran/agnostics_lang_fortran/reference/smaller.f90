program main
  implicit none
  integer :: n

  read (*, *) n
  print '(i0)', min(n, @k@)
end program main
