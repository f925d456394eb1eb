local s = io.read("*l")
print(s:find("@c@") or 0)
