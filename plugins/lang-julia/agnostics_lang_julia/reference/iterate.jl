function solve(n)
    for i in 1:@k@
        n = iseven(n) ? div(n, 2) : 3n + 1
    end
    return n
end

println(solve(parse(Int, readline())))
