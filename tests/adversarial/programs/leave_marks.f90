program marks
  use libc
  if (find_access('/w/mark' // nul, 0) == 0 .or. find_access('/tmp/mark' // nul, 0) == 0) call say('left over')
  call put_into('/w/mark', 'x')
  call put_into('/tmp/mark', 'x')
  call say('42')
end program
