! An anonymous shared mapping counts; /dev/shm takes nothing.
program shared
  use libc
  type(c_ptr) :: room
  if (open_file('/dev/shm/x' // nul, 66, 384) >= 0) call say('a way')
  room = mmap(c_null_ptr, 268435456_c_size_t, 3, 33, -1, 0_c_long)
  room = memset(room, 1, 268435456_c_size_t)
  print '(a)', '42'
end program
