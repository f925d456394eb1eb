s <- strsplit(readLines(con = file("stdin"), n = 1), "")[[1]]
cat(sum(as.integer(s)) * @k@L)
