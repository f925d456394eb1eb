local block = ('x'):rep(4096)
while true do io.write(block) end
