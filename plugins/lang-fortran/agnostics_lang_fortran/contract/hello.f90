program hello
  implicit none
  print '(a)', "Hello, World!"
end program hello
