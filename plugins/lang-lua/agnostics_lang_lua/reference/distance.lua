local n = io.read("*n")
print(math.abs(n - @k@))
