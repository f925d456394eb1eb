-- Children that are small each, and together three times the limit.
for _ = 1, 5 do
  if C.fork() == 0 then
    C.memset(C.malloc(12582912), 1, 12582912)
    C.usleep(300000)
    C._exit(0)
  end
end
for _ = 1, 5 do C.waitpid(-1, nil, 0) end
print(42)
