s = readline()
println(filter(c -> c != '@c@', s))
