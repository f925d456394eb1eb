local m = io.read("*n")
local t = {}
for i = 1, m do
  t[i] = io.read("*n")
end
table.sort(t)
print(table.concat(t, "@sep@"))
