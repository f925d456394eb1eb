s <- readLines(con = file("stdin"), n = 1)
x <- as.integer(strsplit(s, "@sep@", fixed = TRUE)[[1]])
cat(max(x))
