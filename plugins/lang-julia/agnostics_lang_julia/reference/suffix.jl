s = readline()
println(last(s, @k@))
