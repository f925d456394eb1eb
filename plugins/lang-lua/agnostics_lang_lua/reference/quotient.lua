local n = io.read("*n")
print(math.floor(n / @k@))
