x = parse.(Int, split(readline(), "@sep@"))
println(length(x))
