program main
  implicit none
  integer :: n, i, p

  read (*, *) n
  p = 1
  do i = 1, n
    p = mod(p * i, @k@)
  end do
  print '(i0)', p
end program main
