program main
  implicit none
  integer :: n, i, a, b, c

  read (*, *) n
  a = 0
  b = 1
  do i = 1, n
    c = mod(a + b, @k@)
    a = b
    b = c
  end do
  print '(i0)', a
end program main
