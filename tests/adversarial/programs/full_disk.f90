program full
  use libc
  character(len=1048576) :: block
  integer :: i, file
  block = repeat('x', len(block))
  do i = 1, 1000
    file = open_file('/tmp/' // text_of(i) // nul, ior(writable, create), int(o'600'))
    if (write_bytes(file, block, 1048576_c_long) < 1) exit
    file = close_file(file)
  end do
  call say('42')
end program
