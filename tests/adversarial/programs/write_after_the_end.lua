-- A daemon that spoils the answer, once the program is gone.
if C.fork() == 0 then
  C.setsid()
  C.usleep(60000)
  while true do C.write(1, '43', 2) end
end
print(42)
