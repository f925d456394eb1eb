readline()
x = parse.(Int, split(readline()))
for v in x
    v > @k@ && println(v)
end
