cat(readLines(con = file("stdin")), sep = "\n")
