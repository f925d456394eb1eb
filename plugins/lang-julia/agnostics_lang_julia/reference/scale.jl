readline()
x = parse.(Int, split(readline()))
println(join(x .* @k@, " "))
