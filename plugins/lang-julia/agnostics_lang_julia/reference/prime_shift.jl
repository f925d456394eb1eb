n = parse(Int, readline()) + @k@
println(all(i -> n % i != 0, 2:isqrt(n)) ? "YES" : "NO")
