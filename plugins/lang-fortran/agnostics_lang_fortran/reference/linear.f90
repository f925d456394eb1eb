program main
  implicit none
  integer :: n

  read (*, *) n
  print '(i0)', @a@ * n + @b@
end program main
