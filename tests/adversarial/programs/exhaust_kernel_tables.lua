local timer, ends = ffi.new('int[4]'), ffi.new('int[2]')
for _ = 1, 20000 do
  if C.timer_create(1, nil, timer) ~= 0 then break end
end
while C.inotify_init1(0) >= 0 do end
while C.epoll_create1(0) >= 0 and C.eventfd(0, 0) >= 0 and C.pipe(ends) == 0 do
  C.fcntl(ends[0], 1031, 1048576) -- F_SETPIPE_SZ
end
print(42)
