n <- as.integer(readLines(con = file("stdin"), n = 1))
n <- n + @k@L
cat(sum(n %% seq_len(n) == 0))
