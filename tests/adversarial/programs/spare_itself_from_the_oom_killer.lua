local file = C.open('/proc/self/oom_score_adj', 1, 0)
if C.write(file, '-1000', 5) < 0 then C.write(file, '0', 1) end
for _ = 1, 60 do
  if C.fork() == 0 then
    C.memset(C.malloc(8388608), 1, 8388608)
    while true do C.pause() end
  end
end
while true do C.pause() end
