program huge
  integer(8) :: room(2_8**29) = 1
  print *, room(7)
end program
