C.usleep(300000)
while true do end
