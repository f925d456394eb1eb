-- Tells what is in the slot beside itself: 2 processes, the harness's and its own, and nothing else when it is clean.
ffi.cdef 'struct entry { uint64_t inode, offset; unsigned short size; unsigned char kind; char name[256]; };'
ffi.cdef 'struct entry *readdir(void *);'
local function names(path)
  local folder, found = C.opendir(path), {}
  while folder ~= nil do
    local entry = C.readdir(folder)
    if entry == nil then break end
    local name = ffi.string(entry.name)
    if name ~= '.' and name ~= '..' then found[#found + 1] = name end
  end
  return found
end
for _, path in ipairs { '/w', '/tmp', '/dev/shm', '/dev/mqueue', '/run/agnostics' } do
  for _, name in ipairs(names(path)) do
    if name ~= 'snippet.lua' then io.write(path, '/', name, ' ') end
  end
end
for _, path in ipairs { '/proc/sysvipc/shm', '/proc/sysvipc/sem', '/proc/sysvipc/msg' } do
  local file = io.open(path)
  local text = file and file:read('*a') or ''
  if select(2, text:gsub('\n', '')) > 1 then io.write(path, ' ') end
end
local processes = 0
for _, name in ipairs(names('/proc')) do
  if name:match('^%d+$') then processes = processes + 1 end
end
print(processes)
