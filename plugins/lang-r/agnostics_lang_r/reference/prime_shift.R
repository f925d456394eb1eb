n <- as.integer(readLines(con = file("stdin"), n = 1))
n <- n + @k@L
count <- sum(n %% seq_len(n) == 0)
cat(if (count == 2) "YES" else "NO")
