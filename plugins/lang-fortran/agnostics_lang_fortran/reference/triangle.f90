program main
  implicit none
  integer :: n, i

  read (*, *) n
  do i = 1, n
    print '(a)', repeat("@c@", i)
  end do
end program main
