local thread = ffi.new('uint64_t[1]')
local wait_forever = ffi.cast('void *(*)(void *)', C.pause)
while true do C.pthread_create(thread, nil, wait_forever, nil) end
