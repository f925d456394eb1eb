readline()
x = parse.(Int, split(readline()))
println(maximum(x) * @k@)
