n <- as.integer(readLines(con = file("stdin"), n = 1))
cat(max(@a@L, min(n, @b@L)))
