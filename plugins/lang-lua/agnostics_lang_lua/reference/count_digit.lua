local s = io.read("*l")
local _, count = s:gsub("@d@", "")
print(count)
