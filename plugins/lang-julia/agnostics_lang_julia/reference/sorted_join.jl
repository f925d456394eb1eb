readline()
x = parse.(Int, split(readline()))
println(join(sort(x), "@sep@"))
