for _ = 1, 3000 do C.mkdir('deeper', 448) C.chdir('deeper') end
print(42)
