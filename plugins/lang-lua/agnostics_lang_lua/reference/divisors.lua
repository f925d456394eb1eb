local n = io.read("*n") + @k@
local count = 0
for i = 1, n do
  if n % i == 0 then count = count + 1 end
end
print(count)
