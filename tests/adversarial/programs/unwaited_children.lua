-- Short-lived children that nobody waits for: their time is in no process's account.
C.signal(17, ffi.cast('void (*)(int)', 1))
local begun = os.time()
while os.time() - begun < 5 do
  for _ = 1, 2 do
    if C.fork() == 0 then
      local until_s = os.clock() + 0.006
      while os.clock() < until_s do end
      C._exit(0)
    end
  end
  C.usleep(5000)
end
print(42)
