local kept = {}
while true do
  kept[#kept + 1] = ("x"):rep(100000) .. #kept
end
