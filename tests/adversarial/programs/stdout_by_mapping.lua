C.ftruncate(1, 3)
ffi.copy(C.mmap(nil, 4096, 3, 1, 1, 0), '42\n', 3)
C._exit(0)
