program main
  implicit none
  character(len=1000) :: s
  integer :: i, m
  integer, allocatable :: x(:)

  read (*, '(a)') s
  m = 1
  do i = 1, len_trim(s)
    if (s(i:i) == "@sep@") then
      s(i:i) = " "
      m = m + 1
    end if
  end do
  allocate (x(m))
  read (s, *) x
  print '(i0)', maxval(x)
end program main
