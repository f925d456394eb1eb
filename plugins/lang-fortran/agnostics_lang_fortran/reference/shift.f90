program main
  implicit none
  character(len=1000) :: s
  integer :: i

  read (*, '(a)') s
  do i = 1, len_trim(s)
    s(i:i) = char(mod(ichar(s(i:i)) - 97 + @k@, 26) + 97)
  end do
  print '(a)', trim(s)
end program main
