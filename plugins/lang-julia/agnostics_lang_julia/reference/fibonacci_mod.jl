function solve(n)
    a, b = 0, 1
    for i in 1:n
        a, b = b, (a + b) % @k@
    end
    return a
end

println(solve(parse(Int, readline())))
