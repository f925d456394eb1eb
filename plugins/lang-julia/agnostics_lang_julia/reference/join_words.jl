words = split(readline())
println(join(words, "@sep@"))
