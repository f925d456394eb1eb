readline()
x = parse.(Int, split(readline()))
println(count(v -> v == @k@, x))
