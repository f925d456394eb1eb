n = parse(Int, readline())
println(n % @k@ == 0 ? "YES" : "NO")
