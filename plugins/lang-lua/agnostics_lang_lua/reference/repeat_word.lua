local s = io.read("*l")
print(s:rep(@k@))
