program main
  implicit none
  character(len=1000) :: s

  read (*, '(a)') s
  print '(i0)', index(s, "@c@")
end program main
