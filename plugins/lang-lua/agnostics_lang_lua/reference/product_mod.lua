local m = io.read("*n")
local p = 1
for i = 1, m do
  p = p * io.read("*n") % @k@
end
print(p)
