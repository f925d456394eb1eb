s = readline()
println(join([c^@k@ for c in s]))
