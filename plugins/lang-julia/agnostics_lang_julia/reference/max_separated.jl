x = parse.(Int, split(readline(), "@sep@"))
println(maximum(x))
