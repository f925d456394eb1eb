program main
  implicit none
  character(len=1000) :: s
  integer :: i

  read (*, '(a)') s
  do i = 1, len_trim(s)
    write (*, '(a)', advance="no") repeat(s(i:i), @k@)
  end do
end program main
