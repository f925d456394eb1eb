n = parse(Int, readline())
println(@a@ * n + @b@)
