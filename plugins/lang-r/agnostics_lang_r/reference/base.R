n <- as.integer(readLines(con = file("stdin"), n = 1))
s <- ""
while (n > 0) {
  s <- paste0(n %% @k@L, s)
  n <- n %/% @k@L
}
cat(s)
