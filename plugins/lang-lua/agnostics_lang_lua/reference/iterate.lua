local n = io.read("*n")
for i = 1, @k@ do
  if n % 2 == 0 then
    n = n / 2
  else
    n = 3 * n + 1
  end
end
print(n)
