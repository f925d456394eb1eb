program bss
  character, save :: room(2**30)
  room = 'x'
  print *, room(2**29)
end program
