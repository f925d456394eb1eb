program main
  implicit none
  character(len=1000) :: s
  integer :: i

  read (*, '(a)') s
  do i = 1, len_trim(s)
    if (s(i:i) /= "@c@") write (*, '(a)', advance="no") s(i:i)
  end do
end program main
