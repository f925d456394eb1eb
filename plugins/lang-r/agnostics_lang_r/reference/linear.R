n <- as.integer(readLines(con = file("stdin"), n = 1))
cat(@a@L * n + @b@L)
