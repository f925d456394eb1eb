program main
  implicit none
  character(len=1000) :: s
  integer :: i, total

  read (*, '(a)') s
  total = 1
  do i = 1, len_trim(s)
    if (s(i:i) == " ") total = total + 1
  end do
  print '(i0)', total + @k@
end program main
