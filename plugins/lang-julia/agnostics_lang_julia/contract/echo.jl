for line in eachline()
    println(line)
end
