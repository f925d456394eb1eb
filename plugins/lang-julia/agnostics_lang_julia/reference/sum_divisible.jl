readline()
x = parse.(Int, split(readline()))
println(sum(x[x .% @k@ .== 0]))
