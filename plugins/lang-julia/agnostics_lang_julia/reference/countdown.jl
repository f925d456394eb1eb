n = parse(Int, readline())
for i in n:-1:1
    println(i * @k@)
end
