x <- scan(file("stdin"), what = integer(), quiet = TRUE)[-1]
p <- 1
for (i in x) p <- (p * i) %% @k@
cat(p)
