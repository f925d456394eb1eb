local n = io.read("*n")
local s = ""
while n > 0 do
  s = (n % @k@) .. s
  n = math.floor(n / @k@)
end
print(s)
