local s = io.read("*l")
local count = 0
for x in s:gmatch("[^@sep@]+") do
  count = count + 1
end
print(count)
