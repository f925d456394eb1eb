local s = io.read("*l")
local best = -1000
for x in s:gmatch("[^@sep@]+") do
  best = math.max(best, tonumber(x))
end
print(best)
