n <- as.integer(readLines(con = file("stdin"), n = 1))
for (i in seq_len(@k@)) {
  n <- if (n %% 2 == 0) n %/% 2L else 3L * n + 1L
}
cat(n)
