words = split(readline())
println(join([w[1] for w in words], "@sep@"))
