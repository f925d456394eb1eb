local s = io.read("*l")
print(#s > @k@ and "YES" or "NO")
