s = readline()
println(reverse(s) * "@w@")
