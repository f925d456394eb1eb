local n = io.read("*n")
print(n * n + @k@)
