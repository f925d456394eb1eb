program main
  implicit none
  integer :: m
  integer, allocatable :: x(:)

  read (*, *) m
  allocate (x(m))
  read (*, *) x
  print '(i0)', minval(x) + @k@
end program main
