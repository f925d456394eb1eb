program main
  implicit none
  integer :: m
  integer, allocatable :: x(:)

  read (*, *) m
  allocate (x(m))
  read (*, *) x
  if (sum(x) > @k@) then
    print '(a)', "YES"
  else
    print '(a)', "NO"
  end if
end program main
