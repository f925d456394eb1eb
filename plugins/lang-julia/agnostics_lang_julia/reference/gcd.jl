n = parse(Int, readline())
println(gcd(n, @k@))
