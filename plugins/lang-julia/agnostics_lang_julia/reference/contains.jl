s = readline()
println('@c@' in s ? "YES" : "NO")
