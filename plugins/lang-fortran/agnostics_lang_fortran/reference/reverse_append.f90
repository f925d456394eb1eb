program main
  implicit none
  character(len=1000) :: s
  integer :: i

  read (*, '(a)') s
  do i = len_trim(s), 1, -1
    write (*, '(a)', advance="no") s(i:i)
  end do
  print '(a)', "@w@"
end program main
