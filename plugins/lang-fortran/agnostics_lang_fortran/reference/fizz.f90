program main
  implicit none
  integer :: n, i

  read (*, *) n
  do i = 1, n
    if (mod(i, @k@) == 0) then
      print '(a)', "@w@"
    else
      print '(i0)', i
    end if
  end do
end program main
