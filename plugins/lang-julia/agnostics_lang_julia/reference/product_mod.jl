readline()
x = parse.(Int, split(readline()))
println(foldl((p, v) -> mod(p * v, @k@), x; init = 1))
