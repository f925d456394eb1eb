local h, m = io.read("*l"):match("(%d+):(%d+)")
local t = h * 60 + m + @k@
print(string.format("%02d:%02d", math.floor(t / 60) % 24, t % 60))
