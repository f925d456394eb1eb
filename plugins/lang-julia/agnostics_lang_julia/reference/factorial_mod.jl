function solve(n)
    p = 1
    for i in 1:n
        p = p * i % @k@
    end
    return p
end

println(solve(parse(Int, readline())))
