for _, path in ipairs { '/w/snippet.lua', '/harness', '/usr/bin/luajit', '/bin/sh', '/lib/x', '/etc/x', '/x', '/dev/x', '/dev/shm/x',
  '/proc/sys/kernel/core_pattern', '/proc/1/oom_score_adj', '/proc/1/comm', '/proc/1/clear_refs', '/run/x', '/run/agnostics/x',
  '/sys/x', '/cgroup/cgroup.procs', '/sys/fs/cgroup/memory/cgroup.procs', '/sys/fs/cgroup/cgroup.procs' } do
  if io.open(path, 'a') then print('wrote', path) end
  if C.chmod(path, 511) == 0 then print('chmod', path) end
  if os.rename(path, '/tmp/moved') then print('moved', path) end
  if os.remove(path) then print('removed', path) end
end
print(42)
