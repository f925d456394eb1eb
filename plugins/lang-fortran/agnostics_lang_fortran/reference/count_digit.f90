program main
  implicit none
  integer :: n, total

  read (*, *) n
  total = 0
  do while (n > 0)
    if (mod(n, 10) == @d@) total = total + 1
    n = n / 10
  end do
  print '(i0)', total
end program main
