words = split(readline())
println(length(words) + @k@)
