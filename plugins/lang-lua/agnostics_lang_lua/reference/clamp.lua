local n = io.read("*n")
print(math.max(@a@, math.min(n, @b@)))
