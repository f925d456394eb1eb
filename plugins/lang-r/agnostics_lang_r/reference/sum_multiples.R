n <- as.integer(readLines(con = file("stdin"), n = 1))
i <- seq_len(n)
cat(sum(i[i %% @k@ == 0]))
