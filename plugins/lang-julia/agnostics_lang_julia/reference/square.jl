n = parse(Int, readline())
for i in 1:n
    println("@c@"^n)
end
