n = parse(Int, readline())
println(n < @k@ ? "less" : n > @k@ ? "greater" : "equal")
