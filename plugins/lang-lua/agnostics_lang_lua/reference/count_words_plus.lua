local s = io.read("*l")
local count = @k@
for w in s:gmatch("%a+") do
  count = count + 1
end
print(count)
