kept = []
while true
    push!(kept, rand(1_000_000))
end
