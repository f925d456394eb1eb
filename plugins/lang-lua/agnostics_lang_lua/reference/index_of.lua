local m = io.read("*n")
local place = 0
for i = 1, m do
  if io.read("*n") == @k@ and place == 0 then place = i end
end
print(place)
