n <- as.integer(readLines(con = file("stdin"), n = 1))
p <- 1
for (i in seq_len(n)) p <- (p * i) %% @k@
cat(p)
