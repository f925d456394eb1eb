n = parse(Int, readline())
println(string(n, base = @k@))
