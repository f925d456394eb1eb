while true do C.pause() end
