local s = io.read("*l")
print(s:reverse() .. "@w@")
