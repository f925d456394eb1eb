s = readline()
println(replace(s, '@c@' => '@d@'))
