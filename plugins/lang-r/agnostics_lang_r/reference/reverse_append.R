s <- strsplit(readLines(con = file("stdin"), n = 1), "")[[1]]
cat(paste0(paste(rev(s), collapse = ""), "@w@"))
