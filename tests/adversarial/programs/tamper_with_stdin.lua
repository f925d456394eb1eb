-- The input is the same for whoever reads it, and nobody can change it.
local file = C.open('/proc/self/fd/0', 2, 0)
if C.write(0, 'x', 1) == 1 or C.write(file, 'x', 1) == 1 or C.ftruncate(file, 0) == 0 then print('changed') end
if C.fchmod(0, 0) == 0 or C.chmod('/proc/self/fd/0', 0) == 0 then print('chmod') end
local text = ffi.new('char[8]')
C.read(0, text, 7)
C.lseek(0, 1000, 0)
print(ffi.string(text))
