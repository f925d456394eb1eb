program litter
  use libc
  if (find_access('/w/fifo' // nul, 0) == 0 .or. find_access('/tmp/fifo' // nul, 0) == 0) call say('left over')
  call litter_in('/w')
  call litter_in('/tmp')
  call say('42')
contains
  subroutine litter_in(place)
    character(len=*) :: place
    integer :: ignore
    ignore = enter(place // nul)
    ignore = mkfifo('fifo' // nul, int(o'600'))
    ignore = symlink('/etc' // nul, 'link' // nul)
    ignore = symlink('..' // nul, 'up' // nul)
    ignore = mkdir('dark' // nul, int(o'700'))
    ignore = mkdir('dark/inner' // nul, int(o'700'))
    call put_into('dark/inner/file', 'x')
    ignore = change_mode('dark/inner' // nul, 0)
    ignore = change_mode('dark' // nul, 0)
    ignore = mkdir('tree' // nul, int(o'700'))
    call put_into('tree/file', 'x')
    ignore = change_mode('tree' // nul, int(o'500'))
    call put_into('.hidden', 'x')
    call put_into('-rf', 'x')
    call put_into('new' // new_line('a') // 'line', 'x')
    call put_into(repeat('n', 255), 'x')
    ignore = hard_link('.hidden' // nul, 'hard' // nul)
    ignore = bind_socket(socket(1, 1, 0), char(1) // nul // 'socket' // repeat(nul, 102), 110)
    ignore = change_mode(place // nul, 0)
  end subroutine
end program
