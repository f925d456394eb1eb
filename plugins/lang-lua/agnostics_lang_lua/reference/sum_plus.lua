local m = io.read("*n")
local sum = @k@
for i = 1, m do
  sum = sum + io.read("*n")
end
print(sum)
