-- Forks of an interpreter are slow, so 64 branches make the orphans.
local made = 0
while made < 10000 do
  local pid = C.fork()
  if pid == 0 then
    for _ = 1, 200 do
      if C.fork() == 0 then C._exit(0) end
    end
    C._exit(0)
  end
  if pid > 0 then
    C.waitpid(pid, nil, 0)
    made = made + 200
  else
    C.usleep(1000)
  end
end
print(42)
