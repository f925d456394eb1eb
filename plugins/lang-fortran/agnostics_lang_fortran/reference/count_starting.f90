program main
  implicit none
  character(len=1000) :: s
  integer :: i, total

  read (*, '(a)') s
  total = 0
  if (s(1:1) == "@c@") total = 1
  do i = 2, len_trim(s)
    if (s(i - 1:i) == " @c@") total = total + 1
  end do
  print '(i0)', total
end program main
