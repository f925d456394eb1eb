n <- as.integer(readLines(con = file("stdin"), n = 1))
cat(if (n < @k@) "less" else if (n > @k@) "greater" else "equal")
