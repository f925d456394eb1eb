local s = io.read("*l")
local _, count = s:gsub("@c@", "")
print(count)
