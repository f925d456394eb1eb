program main
  implicit none
  integer :: n, i

  read (*, *) n
  do i = 1, n
    print '(a)', repeat("@c@", n)
  end do
end program main
