C.signal(25, ffi.cast('void (*)(int)', 1))
while true do C.write(1, 'xxxxxxx\n', 8) end
