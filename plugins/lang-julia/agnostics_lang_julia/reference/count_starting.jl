words = split(readline())
println(count(w -> w[1] == '@c@', words))
