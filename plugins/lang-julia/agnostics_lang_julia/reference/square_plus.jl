n = parse(Int, readline())
println(n * n + @k@)
