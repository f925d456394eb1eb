n <- as.integer(readLines(con = file("stdin"), n = 1))
cat(seq_len(n) * @k@L)
