n <- as.integer(readLines(con = file("stdin"), n = 1))
i <- seq_len(n)
cat(ifelse(i %% @k@ == 0, "@w@", i), sep = "\n")
