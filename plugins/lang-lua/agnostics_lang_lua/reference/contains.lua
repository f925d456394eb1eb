local s = io.read("*l")
print(s:find("@c@") and "YES" or "NO")
