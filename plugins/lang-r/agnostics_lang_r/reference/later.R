s <- readLines(con = file("stdin"), n = 1)
x <- as.integer(strsplit(s, ":")[[1]])
t <- x[1] * 60L + x[2] + @k@L
cat(sprintf("%02d:%02d", (t %/% 60L) %% 24L, t %% 60L))
