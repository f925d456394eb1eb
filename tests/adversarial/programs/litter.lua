local function litter(where)
  if C.chdir(where) ~= 0 then return end
  C.mkfifo('fifo', 384)
  C.symlink('/etc', 'link') C.symlink('..', 'up') C.symlink('round', 'round')
  C.mkdir('dark', 448) C.mkdir('dark/inner', 448) io.open('dark/inner/file', 'w'):close()
  C.chmod('dark/inner', 0) C.chmod('dark', 0)
  C.mkdir('tree', 448) io.open('tree/file', 'w'):close() C.chmod('tree', 320)
  for _, name in ipairs { '.hidden', '-rf', 'new\nline', '\255\254', ('n'):rep(255), '.wiped-0' } do io.open(name, 'w'):close() end
  C.link('.hidden', 'hard')
  local address = ffi.new('char[110]', '\1\0socket')
  C.bind(C.socket(1, 1, 0), address, 110)
  C.chmod(where, 0) C.rename(where, '/tmp/elsewhere')
end
if io.open('/w/-rf') or io.open('/tmp/-rf') then print('left over') end
litter('/w') litter('/tmp')
print(42)
