n = parse(Int, readline())
println(div(n, @k@))
