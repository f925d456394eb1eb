for file = 0, 2 do C.close(file) end
while true do end
