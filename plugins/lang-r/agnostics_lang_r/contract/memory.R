kept <- list()
repeat kept[[length(kept) + 1]] <- numeric(1e6) + length(kept)
