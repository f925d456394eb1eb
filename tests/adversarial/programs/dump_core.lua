C.abort()
