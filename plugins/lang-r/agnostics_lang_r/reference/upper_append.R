s <- readLines(con = file("stdin"), n = 1)
cat(paste0(toupper(s), "@w@"))
