s = readline()
println(uppercase(s) * "@w@")
