words <- strsplit(readLines(con = file("stdin"), n = 1), " ")[[1]]
cat(substr(words, 1, 1), sep = "@sep@")
