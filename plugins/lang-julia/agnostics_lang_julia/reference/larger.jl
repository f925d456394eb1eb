n = parse(Int, readline())
println(max(n, @k@))
