s = readline()
println(first(s, @k@))
