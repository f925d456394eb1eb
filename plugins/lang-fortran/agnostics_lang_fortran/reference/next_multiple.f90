program main
  implicit none
  integer :: n

  read (*, *) n
  print '(i0)', (n + @k@ - 1) / @k@ * @k@
end program main
