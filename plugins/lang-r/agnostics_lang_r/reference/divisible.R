n <- as.integer(readLines(con = file("stdin"), n = 1))
cat(if (n %% @k@ == 0) "YES" else "NO")
