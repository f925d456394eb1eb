s <- readLines(con = file("stdin"), n = 1)
cat(if (grepl("@c@", s)) "YES" else "NO")
