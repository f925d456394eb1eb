s = readline()
println(map(c -> 'a' + (c - 'a' + @k@) % 26, s))
