program odd
  write (*, '(a)', advance='no') char(0) // char(255) // char(254) // ' 1' // char(192) // char(128)
end program
