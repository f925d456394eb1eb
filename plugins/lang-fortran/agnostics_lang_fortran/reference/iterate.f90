program main
  implicit none
  integer :: n, i

  read (*, *) n
  do i = 1, @k@
    if (mod(n, 2) == 0) then
      n = n / 2
    else
      n = 3 * n + 1
    end if
  end do
  print '(i0)', n
end program main
