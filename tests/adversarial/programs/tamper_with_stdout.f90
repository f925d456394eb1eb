! Seals it, shrinks it, reopens it, locks others out: all that counts is what stands in it at the end.
program tamper
  use libc
  integer(c_long) :: ignore
  ignore = write_bytes(1, 'wrong, and long', 15_c_long)
  ignore = fcntl(1, 1033, 9_c_long)
  ignore = fchmod(1, 0)
  ignore = change_mode('/proc/self/fd/1' // nul, 0)
  ignore = fcntl(1, 4, 3072_c_long)
  ignore = close_file(open_file('/proc/self/fd/1' // nul, truncate, 0))
  ignore = ftruncate(1, 0_c_long)
  ignore = lseek(1, 0_c_long, 0)
  ignore = write_bytes(1, '42', 2_c_long)
  ignore = lseek(1, 7_c_long, 0)
end program
