local n = io.read("*n")
local a, b = 0, 1
for i = 1, n do
  a, b = b, (a + b) % @k@
end
print(a)
