n = parse(Int, readline())
for i in 1:n
    println(i % @k@ == 0 ? "@w@" : i)
end
