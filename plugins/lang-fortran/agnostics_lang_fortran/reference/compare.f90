program main
  implicit none
  integer :: n

  read (*, *) n
  if (n < @k@) then
    print '(a)', "less"
  else if (n > @k@) then
    print '(a)', "greater"
  else
    print '(a)', "equal"
  end if
end program main
