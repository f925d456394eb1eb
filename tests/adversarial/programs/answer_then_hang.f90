program hang
  use libc
  integer :: ignore
  call say('42')
  do
    ignore = pause()
  end do
end program
