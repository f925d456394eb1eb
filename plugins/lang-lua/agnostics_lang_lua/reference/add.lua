local n = io.read("*n")
print(n + @k@)
