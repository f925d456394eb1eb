local n = io.read("*n") + @k@
local prime = "YES"
for i = 2, n - 1 do
  if n % i == 0 then prime = "NO" end
end
print(prime)
