s = readline()
println(s * "@w@")
