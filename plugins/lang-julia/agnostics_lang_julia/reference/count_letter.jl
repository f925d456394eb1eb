s = readline()
println(count(c -> c == '@c@', s))
