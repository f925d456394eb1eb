s <- readLines(con = file("stdin"), n = 1)
cat(substr(s, 1, @k@))
