n = parse(Int, readline())
println(join((1:n) .* @k@, " "))
