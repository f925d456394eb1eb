program main
  implicit none
  character(len=1000) :: s

  read (*, '(a)') s
  print '(a)', repeat(trim(s), @k@)
end program main
