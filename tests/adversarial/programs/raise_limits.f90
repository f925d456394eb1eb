program limits
  use libc
  integer :: what, raised
  integer(c_long) :: most(2) = -1, now(2)
  raised = 0
  do what = 0, 15
    if (getrlimit(what, now) == 0 .and. now(2) /= -1) raised = raised + merge(1, 0, setrlimit(what, most) == 0)
    raised = raised + merge(1, 0, prlimit(getppid(), what, most, c_null_ptr) == 0)
  end do
  raised = raised + merge(1, 0, nice(-1) /= -1)
  print '(i0)', raised
end program
