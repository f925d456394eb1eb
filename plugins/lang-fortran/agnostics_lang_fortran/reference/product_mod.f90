program main
  implicit none
  integer :: m, i, p
  integer, allocatable :: x(:)

  read (*, *) m
  allocate (x(m))
  read (*, *) x
  p = 1
  do i = 1, m
    p = modulo(p * x(i), @k@)
  end do
  print '(i0)', p
end program main
