program main
  implicit none
  integer :: n, i, total

  read (*, *) n
  n = n + @k@
  total = 0
  do i = 1, n
    if (mod(n, i) == 0) total = total + 1
  end do
  print '(i0)', total
end program main
