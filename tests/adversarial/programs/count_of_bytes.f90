! Prints as many bytes as it reads that it should.
program count
  integer :: number
  read *, number
  write (*, '(a)', advance='no') repeat('x', number)
end program
