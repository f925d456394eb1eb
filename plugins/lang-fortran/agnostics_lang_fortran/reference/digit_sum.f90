program main
  implicit none
  integer :: n, total

  read (*, *) n
  total = 0
  do while (n > 0)
    total = total + mod(n, 10)
    n = n / 10
  end do
  print '(i0)', total * @k@
end program main
