s = readline()
println(s^@k@)
