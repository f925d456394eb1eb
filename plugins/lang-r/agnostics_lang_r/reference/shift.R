s <- readLines(con = file("stdin"), n = 1)
cat(intToUtf8((utf8ToInt(s) - 97 + @k@) %% 26 + 97))
