program main
  implicit none
  integer :: m, i
  integer, allocatable :: x(:)

  read (*, *) m
  allocate (x(m))
  read (*, *) x
  do i = 1, m
    if (x(i) > @k@) print '(i0)', x(i)
  end do
end program main
