s <- readLines(con = file("stdin"), n = 1)
cat(gsub("@c@", "", s))
