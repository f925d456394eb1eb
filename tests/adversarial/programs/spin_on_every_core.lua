C.fork() C.fork() C.fork()
while true do end
