while true
    println("more and more")
end
