io.stdin:close()
print(42)
