local pid = C.fork()
while pid == 0 do C.memset(C.malloc(1048576), 1, 1048576) end
C.waitpid(pid, nil, 0)
print(42)
