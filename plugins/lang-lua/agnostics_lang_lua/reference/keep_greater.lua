local m = io.read("*n")
for i = 1, m do
  local x = io.read("*n")
  if x > @k@ then print(x) end
end
