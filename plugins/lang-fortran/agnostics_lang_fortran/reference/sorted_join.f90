program main
  implicit none
  integer :: m, i, j
  integer, allocatable :: x(:)

  read (*, *) m
  allocate (x(m))
  read (*, *) x
  do i = 1, m
    do j = 1, m - i
      if (x(j) > x(j + 1)) x(j:j + 1) = [x(j + 1), x(j)]
    end do
  end do
  do i = 1, m
    if (i > 1) write (*, '(a)', advance="no") "@sep@"
    write (*, '(i0)', advance="no") x(i)
  end do
end program main
