x <- scan(file("stdin"), what = integer(), quiet = TRUE)[-1]
cat(match(@k@, x, nomatch = 0))
