local n = io.read("*n")
for i = n, 1, -1 do
  print(i * @k@)
end
