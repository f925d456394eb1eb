n = parse(Int, readline())
println(sum(@k@:@k@:n))
