while true do
  print("more and more")
end
