local n = io.read("*n")
local t = {}
for i = 1, n do
  t[i] = i * @k@
end
print(table.concat(t, " "))
