! Claims a terabyte of output with one byte.
program sparse
  use libc
  integer(c_intptr_t) :: before
  integer(c_long) :: ignore
  before = signal(25, ignored)
  ignore = ftruncate(1, 2_c_long**40)
  ignore = lseek(1, 2_c_long**40, 0)
  ignore = write_bytes(1, 'x', 1_c_long)
  call leave(ftruncate(1, 5000001_c_long))
end program
