local n = io.read("*n")
print(math.min(n, @k@))
