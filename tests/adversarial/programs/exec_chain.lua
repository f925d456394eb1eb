local left = tonumber(arg[1] or 300)
if left > 0 then
  C.execvp('luajit', ffi.new('const char *[4]', 'luajit', 'snippet.lua', tostring(left - 1)))
end
print(42)
