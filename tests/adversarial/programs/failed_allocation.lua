print(C.malloc(2 ^ 60) == nil and 42 or 'got it')
