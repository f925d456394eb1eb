n <- as.integer(readLines(con = file("stdin"), n = 1))
a <- 0
b <- 1
for (i in seq_len(n)) {
  f <- (a + b) %% @k@
  a <- b
  b <- f
}
cat(a)
