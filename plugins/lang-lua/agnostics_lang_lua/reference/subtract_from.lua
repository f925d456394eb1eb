local n = io.read("*n")
print(@k@ - n)
