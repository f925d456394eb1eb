program main
  implicit none
  character(len=1000) :: s

  read (*, '(a)') s
  print '(a)', trim(s) // "@w@"
end program main
