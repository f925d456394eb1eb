readline()
x = parse.(Int, split(readline()))
println(minimum(x) + @k@)
