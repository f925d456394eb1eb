program main
  implicit none
  integer :: m, i
  integer, allocatable :: x(:)

  read (*, *) m
  allocate (x(m))
  read (*, *) x
  do i = 1, m
    if (i > 1) write (*, '(a)', advance="no") "@sep@"
    write (*, '(i0)', advance="no") x(m + 1 - i)
  end do
end program main
