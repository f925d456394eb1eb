n = parse(Int, readline())
println(min(n, @k@))
