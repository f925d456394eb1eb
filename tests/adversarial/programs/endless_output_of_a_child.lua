-- The one that writes is not the one that is watched.
if C.fork() == 0 then
  C.setsid()
  while true do C.write(1, 'xxxxxxx\n', 8) end
end
while true do C.pause() end
