local n = io.read("*n")
for i = 1, n do
  print(i % @k@ == 0 and "@w@" or i)
end
