-- Computes for 90 ms.
repeat until os.clock() >= 0.09
print(42)
