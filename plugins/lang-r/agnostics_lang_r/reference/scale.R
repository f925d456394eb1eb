x <- scan(file("stdin"), what = integer(), quiet = TRUE)[-1]
cat(x * @k@L)
