program main
  implicit none
  character(len=1000) :: s
  integer :: i, length, total

  read (*, '(a)') s
  total = 0
  length = 0
  do i = 1, len_trim(s) + 1
    if (s(i:i) /= " ") then
      length = length + 1
    else
      if (length > @k@) total = total + 1
      length = 0
    end if
  end do
  print '(i0)', total
end program main
