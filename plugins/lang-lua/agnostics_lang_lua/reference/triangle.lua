local n = io.read("*n")
for i = 1, n do
  print(string.rep("@c@", i))
end
