local n = io.read("*n")
print(math.ceil(n / @k@) * @k@)
