n = parse(Int, readline()) + @k@
println(count(i -> n % i == 0, 1:n))
