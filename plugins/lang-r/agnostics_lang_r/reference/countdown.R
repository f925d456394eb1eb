n <- as.integer(readLines(con = file("stdin"), n = 1))
cat(n:1 * @k@L, sep = "\n")
