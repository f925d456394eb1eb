s <- readLines(con = file("stdin"), n = 1)
cat(strrep(s, @k@))
