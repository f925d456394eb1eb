program main
  implicit none
  integer :: n

  read (*, *) n
  print '(i0)', max(n, @k@)
end program main
