program main
  implicit none
  integer :: m, i, place
  integer, allocatable :: x(:)

  read (*, *) m
  allocate (x(m))
  read (*, *) x
  place = 0
  do i = m, 1, -1
    if (x(i) == @k@) place = i
  end do
  print '(i0)', place
end program main
