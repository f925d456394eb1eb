n = parse(Int, readline())
println(count(d -> d == @d@, digits(n)))
