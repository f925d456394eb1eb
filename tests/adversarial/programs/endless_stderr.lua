local block = ('x'):rep(4096)
while true do io.stderr:write(block) end
