! A program that stands in no folder.
program memory
  use libc
  character(len=65536) :: room
  character(len=3), target :: answer = '42' // nul
  integer :: from, to
  integer(c_long) :: got
  from = open_file('/bin/echo' // nul, readable, 0)
  to = memfd_create('hidden' // nul, 0)
  do
    got = read_bytes(from, room, 65536_c_long)
    if (got <= 0) exit
    got = write_bytes(to, room, got)
  end do
  to = execvp('/proc/self/fd/' // text_of(to) // nul, [c_loc(answer), c_loc(answer), c_null_ptr])
end program
