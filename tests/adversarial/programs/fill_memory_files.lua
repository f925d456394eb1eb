local block = ('x'):rep(1048576)
for _ = 1, 1000 do
  local file = C.memfd_create('x', 0)
  for _ = 1, 4 do C.write(file, block, #block) end
end
