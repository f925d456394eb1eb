n = parse(Int, readline())
println(@k@ - n)
