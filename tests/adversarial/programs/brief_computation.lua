while os.clock() < 0.3 do
end
print(42)
