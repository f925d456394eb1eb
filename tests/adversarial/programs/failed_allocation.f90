program failed
  integer(8), allocatable :: room(:)
  integer :: error
  allocate (room(2_8**57), stat=error)
  if (error /= 0) print '(a)', '42'
end program
