words <- strsplit(readLines(con = file("stdin"), n = 1), " ")[[1]]
cat(words, sep = "@sep@")
