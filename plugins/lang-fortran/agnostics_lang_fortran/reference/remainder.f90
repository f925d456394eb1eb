program main
  implicit none
  integer :: n

  read (*, *) n
  print '(i0)', mod(n, @k@)
end program main
