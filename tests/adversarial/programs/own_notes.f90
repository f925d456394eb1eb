program notes
  integer :: unit, number
  open (newunit=unit, file='notes')
  write (unit, *) 42
  rewind (unit)
  read (unit, *) number
  close (unit)
  print '(i0)', number
end program
