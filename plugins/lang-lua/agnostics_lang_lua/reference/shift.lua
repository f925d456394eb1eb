local s = io.read("*l")
print((s:gsub(".", function(c)
  return string.char((c:byte() - 97 + @k@) % 26 + 97)
end)))
