program main
  implicit none
  character(len=1000) :: s

  read (*, '(a)') s
  print '(a)', s(max(1, len_trim(s) - @k@ + 1):len_trim(s))
end program main
