local block = ('x'):rep(1048576)
for i = 1, 1000 do
  local file = io.open('/tmp/' .. i, 'w')
  if not file or not file:write(block) or not file:close() then break end
end
print(42)
