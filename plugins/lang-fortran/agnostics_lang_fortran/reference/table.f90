program main
  implicit none
  integer :: n, i

  read (*, *) n
  do i = 1, n
    write (*, '(i0, 1x)', advance="no") i * @k@
  end do
end program main
