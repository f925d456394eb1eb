local m = io.read("*n")
local sum = 0
for i = 1, m do
  sum = sum + io.read("*n")
end
print(sum > @k@ and "YES" or "NO")
