readline()
x = parse.(Int, split(readline()))
println(join(reverse(x), "@sep@"))
