n = parse(Int, readline())
println(cld(n, @k@) * @k@)
