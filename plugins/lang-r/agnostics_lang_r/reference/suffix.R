s <- readLines(con = file("stdin"), n = 1)
cat(substring(s, nchar(s) - @k@ + 1))
