-- Claims a terabyte of output with one byte.
C.signal(25, ffi.cast('void (*)(int)', 1))
C.ftruncate(1, 2 ^ 40)
C.lseek(1, 2 ^ 40, 0)
C.write(1, 'x', 1)
os.exit(C.ftruncate(1, 5000001))
