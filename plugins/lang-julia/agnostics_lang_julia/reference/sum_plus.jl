readline()
x = parse.(Int, split(readline()))
println(sum(x) + @k@)
