local n = io.read("*n")
local p = 1
for i = 1, n do
  p = p * i % @k@
end
print(p)
