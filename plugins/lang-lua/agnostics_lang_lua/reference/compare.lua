local n = io.read("*n")
if n < @k@ then
  print("less")
elseif n > @k@ then
  print("greater")
else
  print("equal")
end
