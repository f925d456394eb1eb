n <- as.integer(readLines(con = file("stdin"), n = 1))
cat(ceiling(n / @k@) * @k@)
