local s = io.read("*l")
print(string.rep("@c@", @k@ - #s) .. s)
