local s = io.read("*l")
print(s:sub(1, @k@))
