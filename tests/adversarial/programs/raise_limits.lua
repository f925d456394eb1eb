local raised = 0
local most, now = ffi.new('uint64_t[2]', {0xffffffffffffffffULL, 0xffffffffffffffffULL}), ffi.new('uint64_t[2]')
for what = 0, 15 do
  C.getrlimit(what, now)
  if now[1] ~= most[1] and C.setrlimit(what, most) == 0 then raised = raised + 1 end
  if C.prlimit(C.getppid(), what, most, nil) == 0 then raised = raised + 1 end
end
if C.nice(-1) ~= -1 then raised = raised + 1 end
print(raised)
