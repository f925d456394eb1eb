s <- strsplit(readLines(con = file("stdin"), n = 1), "")[[1]]
cat(match("@c@", s, nomatch = 0))
