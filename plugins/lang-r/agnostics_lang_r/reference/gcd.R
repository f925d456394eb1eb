n <- as.integer(readLines(con = file("stdin"), n = 1))
k <- @k@L
while (k > 0) {
  r <- n %% k
  n <- k
  k <- r
}
cat(n)
