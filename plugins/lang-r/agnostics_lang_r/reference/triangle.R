n <- as.integer(readLines(con = file("stdin"), n = 1))
cat(strrep("@c@", seq_len(n)), sep = "\n")
