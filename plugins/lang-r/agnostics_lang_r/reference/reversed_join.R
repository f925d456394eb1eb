x <- scan(file("stdin"), what = integer(), quiet = TRUE)[-1]
cat(rev(x), sep = "@sep@")
