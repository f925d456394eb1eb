while true do C.memset(C.malloc(1048576), 1, 1048576) end
