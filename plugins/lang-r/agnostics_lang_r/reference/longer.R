s <- readLines(con = file("stdin"), n = 1)
cat(if (nchar(s) > @k@) "YES" else "NO")
