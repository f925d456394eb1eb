! The input is the same for whoever reads it, and nobody can change it.
program tamper
  use libc
  character(len=7) :: text = ' '
  integer :: file
  integer(c_long) :: got
  file = open_file('/proc/self/fd/0' // nul, both_ways, 0)
  if (write_bytes(0, 'x', 1_c_long) == 1 .or. write_bytes(file, 'x', 1_c_long) == 1) call say('changed')
  if (ftruncate(file, 0_c_long) == 0 .or. fchmod(0, 0) == 0) call say('changed')
  got = read_bytes(0, text, 7_c_long)
  got = lseek(0, 1000_c_long, 0)
  call say(trim(text))
end program
