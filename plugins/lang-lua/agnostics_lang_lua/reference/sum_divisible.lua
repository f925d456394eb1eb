local m = io.read("*n")
local sum = 0
for i = 1, m do
  local x = io.read("*n")
  if x % @k@ == 0 then sum = sum + x end
end
print(sum)
