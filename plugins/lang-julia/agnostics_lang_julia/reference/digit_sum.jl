n = parse(Int, readline())
println(sum(digits(n)) * @k@)
