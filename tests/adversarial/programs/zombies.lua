for _ = 1, 10000 do
  if C.fork() == 0 then C._exit(0) end
end
print(42)
