local s = io.read("*l")
print(s:sub(-@k@))
