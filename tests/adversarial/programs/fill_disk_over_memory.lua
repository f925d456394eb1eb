-- What stands on a RAM disk counts as memory.
local block = ('x'):rep(1048576)
for i = 1, 400 do
  local file = io.open('/tmp/' .. i, 'w')
  if not file then break end
  for _ = 1, 4 do file:write(block) end
  file:close()
end
