program main
  implicit none
  integer :: n

  read (*, *) n
  if (mod(n, @k@) == 0) then
    print '(a)', "YES"
  else
    print '(a)', "NO"
  end if
end program main
