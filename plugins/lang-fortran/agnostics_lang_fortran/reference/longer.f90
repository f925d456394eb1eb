program main
  implicit none
  character(len=1000) :: s

  read (*, '(a)') s
  if (len_trim(s) > @k@) then
    print '(a)', "YES"
  else
    print '(a)', "NO"
  end if
end program main
