n <- as.integer(readLines(con = file("stdin"), n = 1))
cat(rep(strrep("@c@", n), n), sep = "\n")
