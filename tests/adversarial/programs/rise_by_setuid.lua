-- Programs of root's that would run as root, and one's own that pretends to be.
for _, command in ipairs { 'su -c id', 'mount -t tmpfs none /tmp', 'newgrp root -c id', 'umount /proc', 'passwd -d root' } do
  if os.execute(command .. ' </dev/null >/dev/null 2>&1') == 0 then print('allowed', command) end
end
os.execute('cp /bin/cat /tmp/cat && chmod 6755 /tmp/cat')
for line in io.popen('/tmp/cat /proc/self/status'):lines() do
  if line:find('^[UG]id:.*%f[%d]0%f[%D]') or line:find('^Cap[IPEA]%a+:.*[1-9a-f]') or line == 'NoNewPrivs:\t0' then print(line) end
end
print(42)
