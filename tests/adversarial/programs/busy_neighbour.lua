-- Computes for 10 ms and sleeps for 10 ms.
repeat until os.clock() >= 0.01
C.usleep(10000)
print(42)
