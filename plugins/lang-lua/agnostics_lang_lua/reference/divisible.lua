local n = io.read("*n")
print(n % @k@ == 0 and "YES" or "NO")
