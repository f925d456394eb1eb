s = readline()
i = findfirst(isequal('@c@'), s)
println(i === nothing ? 0 : i)
