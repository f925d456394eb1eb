local s = io.read("*l")
print(s .. "@w@")
