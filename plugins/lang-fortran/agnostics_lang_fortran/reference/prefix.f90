program main
  implicit none
  character(len=1000) :: s

  read (*, '(a)') s
  print '(a)', s(:min(@k@, len_trim(s)))
end program main
