numbers = parse.(Int, split(read(stdin, String)))
println(sum(numbers))
