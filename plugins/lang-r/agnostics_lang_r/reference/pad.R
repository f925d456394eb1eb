s <- readLines(con = file("stdin"), n = 1)
cat(paste0(strrep("@c@", max(0, @k@ - nchar(s))), s))
