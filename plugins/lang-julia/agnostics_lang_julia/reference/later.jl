h, m = parse.(Int, split(readline(), ":"))
t = (60h + m + @k@) % 1440
println(lpad(div(t, 60), 2, '0'), ":", lpad(t % 60, 2, '0'))
