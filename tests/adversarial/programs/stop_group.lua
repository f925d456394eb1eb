C.fork()
C.kill(0, 19)
