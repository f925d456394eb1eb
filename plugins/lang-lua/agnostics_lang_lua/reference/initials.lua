local s = io.read("*l")
local t = {}
for w in s:gmatch("%a+") do
  t[#t + 1] = w:sub(1, 1)
end
print(table.concat(t, "@sep@"))
