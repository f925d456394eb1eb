n = parse(Int, readline())
println(clamp(n, @a@, @b@))
