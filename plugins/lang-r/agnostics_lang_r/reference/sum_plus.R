x <- scan(file("stdin"), what = integer(), quiet = TRUE)[-1]
cat(sum(x) + @k@L)
