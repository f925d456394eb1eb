local m = io.read("*n")
local t = {}
for i = 1, m do
  table.insert(t, 1, io.read("*n"))
end
print(table.concat(t, "@sep@"))
