local m = io.read("*n")
local count = 0
for i = 1, m do
  if io.read("*n") > @k@ then count = count + 1 end
end
print(count)
