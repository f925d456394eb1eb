local m = io.read("*n")
local best = io.read("*n")
for i = 2, m do
  best = math.max(best, io.read("*n"))
end
print(best * @k@)
