program main
  implicit none
  character(len=5) :: s
  integer :: h, m, t

  read (*, '(a)') s
  read (s(1:2), *) h
  read (s(4:5), *) m
  t = h * 60 + m + @k@
  print '(i2.2, ":", i2.2)', mod(t / 60, 24), mod(t, 60)
end program main
