words = split(readline())
println(count(w -> length(w) > @k@, words))
