readline()
x = parse.(Int, split(readline()))
i = findfirst(isequal(@k@), x)
println(i === nothing ? 0 : i)
