program grow
  character(len=*), parameter :: a = repeat(repeat(repeat('x', 1000), 1000), 2000)
  print *, a(5:5)
end program
