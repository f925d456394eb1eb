-- An anonymous shared mapping counts; /dev/shm takes nothing.
if C.open('/dev/shm/x', 66, 384) >= 0 then print('a way') end
C.memset(C.mmap(nil, 268435456, 3, 33, -1, 0), 1, 268435456)
print(42)
