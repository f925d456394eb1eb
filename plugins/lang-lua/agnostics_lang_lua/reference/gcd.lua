local a, b = io.read("*n"), @k@
while b > 0 do
  a, b = b, a % b
end
print(a)
