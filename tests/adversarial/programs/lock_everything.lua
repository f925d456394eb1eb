local files = { 0, 1, 2, C.open('/w', 0, 0), C.open('/tmp', 0, 0), C.open('snippet.lua', 0, 0), C.open('/tmp/mine', 66, 384) }
for _, file in ipairs(files) do
  C.flock(file, 6) -- LOCK_EX | LOCK_NB
  C.fcntl(file, 1024, 0) -- F_SETLEASE: F_RDLCK
  C.fcntl(file, 1024, 1)
end
if C.fork() == 0 then while true do C.pause() end end
print(42)
