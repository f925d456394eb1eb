local n = io.read("*n")
print(@a@ * n + @b@)
