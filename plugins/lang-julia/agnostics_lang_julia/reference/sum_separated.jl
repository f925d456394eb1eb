x = parse.(Int, split(readline(), "@sep@"))
println(sum(x))
