local s = io.read("*l")
print((s:gsub("@c@", "")))
