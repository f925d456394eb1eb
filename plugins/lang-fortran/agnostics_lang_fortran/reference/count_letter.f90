program main
  implicit none
  character(len=1000) :: s
  integer :: i, total

  read (*, '(a)') s
  total = 0
  do i = 1, len_trim(s)
    if (s(i:i) == "@c@") total = total + 1
  end do
  print '(i0)', total
end program main
