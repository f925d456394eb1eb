local found, secret = 0, 'a-string-that-only' .. '-the-expected'
for path in io.popen('find / -xdev -type f -size -64k; find /w /tmp /proc/1 /proc/self -type f'):lines() do
  local file = not path:find('^/usr/share') and not path:find('pagemap') and io.open(path, 'rb')
  local text = file and file:read(65536)
  if text and text:find(secret, 1, true) then found = found + 1 end
  if file then file:close() end
end
print(found)
