s = readline()
println(lpad(s, @k@, '@c@'))
