n = parse(Int, readline())
println(n * @k@)
