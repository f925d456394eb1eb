local s = io.read("*l")
local count = 0
for w in s:gmatch("%a+") do
  if w:sub(1, 1) == "@c@" then count = count + 1 end
end
print(count)
