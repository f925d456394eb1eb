for _ = 1, 5000 do C.write(1, 'x', 1) end
