repeat cat("more and more\n")
