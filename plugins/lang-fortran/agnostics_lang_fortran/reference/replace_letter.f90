program main
  implicit none
  character(len=1000) :: s
  integer :: i

  read (*, '(a)') s
  do i = 1, len_trim(s)
    if (s(i:i) == "@c@") s(i:i) = "@d@"
  end do
  print '(a)', trim(s)
end program main
