program main
  implicit none
  character(len=1000) :: s

  read (*, '(a)') s
  print '(a)', repeat("@c@", max(0, @k@ - len_trim(s))) // trim(s)
end program main
