s <- strsplit(readLines(con = file("stdin"), n = 1), "")[[1]]
cat(strrep(s, @k@), sep = "")
