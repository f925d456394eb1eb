s = readline()
println(length(s) > @k@ ? "YES" : "NO")
