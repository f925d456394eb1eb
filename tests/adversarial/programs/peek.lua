local found, text = 0, ffi.new('char[4096]')
local pieces = ffi.new('uint64_t[4]', ffi.cast('intptr_t', text), 16, 0x400000, 16)
for fd = 3, 1023 do
  if C.fcntl(fd, 1, 0) >= 0 and C.readlink('/proc/self/fd/' .. fd, text, 4096) > 0 then
    if not ffi.string(text):find('snippet.lua') then found = found + 1 end -- the interpreter holds its program open
  end
end
for pid = 1, 100 do
  if pid ~= C.getpid() then
    for _, name in ipairs { 'mem', 'maps', 'environ', 'auxv', 'fd/0', 'fd/1', 'fd/3', 'fd/4', 'fd/5', 'fd/6', 'ns/pid' } do
      if C.open(('/proc/%d/%s'):format(pid, name), 0, 0) >= 0 then found = found + 1 end
    end
    if C.opendir(('/proc/%d/fd'):format(pid)) ~= nil then found = found + 1 end
    if C.readlink(('/proc/%d/root'):format(pid), text, 4096) >= 0 then found = found + 1 end
    if C.ptrace(16, pid, nil, nil) == 0 then found = found + 1 end
    if C.process_vm_readv(pid, pieces, 1, pieces + 2, 1, 0) > 0 then found = found + 1 end
  end
end
print(found)
