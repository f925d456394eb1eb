local s = io.read("*l")
local sum = 0
for x in s:gmatch("[^@sep@]+") do
  sum = sum + tonumber(x)
end
print(sum)
