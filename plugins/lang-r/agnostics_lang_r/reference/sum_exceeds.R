x <- scan(file("stdin"), what = integer(), quiet = TRUE)[-1]
cat(if (sum(x) > @k@) "YES" else "NO")
