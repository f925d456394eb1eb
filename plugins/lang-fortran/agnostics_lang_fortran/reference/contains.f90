program main
  implicit none
  character(len=1000) :: s

  read (*, '(a)') s
  if (index(s, "@c@") > 0) then
    print '(a)', "YES"
  else
    print '(a)', "NO"
  end if
end program main
