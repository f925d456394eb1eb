n <- as.integer(readLines(con = file("stdin"), n = 1))
cat(n %% @k@L)
