program blanks
  integer :: i
  print '(a)', '42'
  do i = 1, 16384
    write (*, '(a)', advance='no') repeat(' ', 65536)
  end do
end program
