program closed
  use libc
  if (close_file(0) == 0) print '(a)', '42'
end program
