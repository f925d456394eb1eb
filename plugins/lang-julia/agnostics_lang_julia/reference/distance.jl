n = parse(Int, readline())
println(abs(n - @k@))
