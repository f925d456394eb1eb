program main
  implicit none
  integer :: n, k, r

  read (*, *) n
  k = @k@
  do while (k > 0)
    r = mod(n, k)
    n = k
    k = r
  end do
  print '(i0)', n
end program main
