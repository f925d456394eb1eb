local n = io.read("*n")
local sum = 0
for i = @k@, n, @k@ do
  sum = sum + i
end
print(sum)
