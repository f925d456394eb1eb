local s = io.read("*l")
local sum = 0
for d in s:gmatch("%d") do
  sum = sum + tonumber(d)
end
print(sum * @k@)
