program deep
  use libc
  integer :: i, ignore
  do i = 1, 3000
    ignore = mkdir('deeper' // nul, int(o'700'))
    ignore = enter('deeper' // nul)
  end do
  call say('42')
end program
