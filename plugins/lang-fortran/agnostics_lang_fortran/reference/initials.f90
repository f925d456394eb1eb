program main
  implicit none
  character(len=1000) :: s
  integer :: i

  read (*, '(a)') s
  write (*, '(a)', advance="no") s(1:1)
  do i = 2, len_trim(s)
    if (s(i - 1:i - 1) == " ") write (*, '(a)', advance="no") "@sep@" // s(i:i)
  end do
end program main
