local s = io.read("*l")
print(s:upper() .. "@w@")
