for _ = 1, 20 do
  if C.fork() == 0 then
    C.memset(C.malloc(16777216), 1, 16777216)
    while true do C.pause() end
  end
end
while true do C.pause() end
