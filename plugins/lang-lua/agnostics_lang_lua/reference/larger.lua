local n = io.read("*n")
print(math.max(n, @k@))
