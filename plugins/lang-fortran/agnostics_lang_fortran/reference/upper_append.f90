program main
  implicit none
  character(len=1000) :: s
  integer :: i

  read (*, '(a)') s
  do i = 1, len_trim(s)
    s(i:i) = char(ichar(s(i:i)) - 32)
  end do
  print '(a)', trim(s) // "@w@"
end program main
