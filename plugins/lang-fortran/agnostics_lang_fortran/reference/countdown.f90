program main
  implicit none
  integer :: n, i

  read (*, *) n
  do i = n, 1, -1
    print '(i0)', i * @k@
  end do
end program main
