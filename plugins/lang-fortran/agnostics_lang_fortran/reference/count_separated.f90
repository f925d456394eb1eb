program main
  implicit none
  character(len=1000) :: s
  integer :: i, m

  read (*, '(a)') s
  m = 1
  do i = 1, len_trim(s)
    if (s(i:i) == "@sep@") m = m + 1
  end do
  print '(i0)', m
end program main
