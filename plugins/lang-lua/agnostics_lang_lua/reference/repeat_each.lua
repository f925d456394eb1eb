local s = io.read("*l")
print((s:gsub(".", function(c)
  return c:rep(@k@)
end)))
