local text, more, line = io.read('*a'), io.read('*a'), io.read('*l')
print(#text, #more, line)
