if C.fork() == 0 then
  C.setsid()
  if C.fork() == 0 then while true do C.getppid() end end
  C._exit(0)
end
print(42)
