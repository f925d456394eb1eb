print(42)
io.flush()
while true do C.pause() end
