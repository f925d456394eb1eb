local s = io.read("*l")
local count = 0
for w in s:gmatch("%a+") do
  if #w > @k@ then count = count + 1 end
end
print(count)
