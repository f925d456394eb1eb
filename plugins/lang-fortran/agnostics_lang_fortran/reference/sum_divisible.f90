program main
  implicit none
  integer :: m
  integer, allocatable :: x(:)

  read (*, *) m
  allocate (x(m))
  read (*, *) x
  print '(i0)', sum(x, mask=mod(x, @k@) == 0)
end program main
