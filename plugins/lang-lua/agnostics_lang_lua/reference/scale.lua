local m = io.read("*n")
local t = {}
for i = 1, m do
  t[i] = io.read("*n") * @k@
end
print(table.concat(t, " "))
