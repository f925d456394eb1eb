x <- scan(file("stdin"), what = integer(), quiet = TRUE)[-1]
cat(sort(x), sep = "@sep@")
