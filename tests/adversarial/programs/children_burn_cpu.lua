for _ = 1, 8 do
  if C.fork() == 0 then while true do end end
end
print(42)
