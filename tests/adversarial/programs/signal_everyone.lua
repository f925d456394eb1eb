for _, number in ipairs { 15, 19, 11, 6, 1, 17, 9 } do
  for _, target in ipairs { -1, 1, C.getppid() } do C.kill(target, number) end
end
print(42)
