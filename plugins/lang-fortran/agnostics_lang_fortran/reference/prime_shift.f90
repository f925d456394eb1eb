program main
  implicit none
  integer :: n, i
  logical :: prime

  read (*, *) n
  n = n + @k@
  prime = .true.
  do i = 2, n - 1
    if (mod(n, i) == 0) prime = .false.
  end do
  if (prime) then
    print '(a)', "YES"
  else
    print '(a)', "NO"
  end if
end program main
