program main
  implicit none
  integer :: n, i, total

  read (*, *) n
  total = 0
  do i = @k@, n, @k@
    total = total + i
  end do
  print '(i0)', total
end program main
