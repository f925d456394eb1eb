for i = 1, 1000000 do
  local file = io.open('/tmp/' .. i, 'w')
  if not file then break end
  file:close()
end
print(42)
