x <- scan(file("stdin"), what = integer(), quiet = TRUE)[-1]
cat(x[x > @k@], sep = "\n")
