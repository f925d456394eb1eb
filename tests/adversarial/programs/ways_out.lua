local function try(name, result) if tonumber(result) >= 0 then print('allowed', name) end end
local room = ffi.new('char[4096]')
for name, family in pairs { inet = 2, inet6 = 10, vsock = 40, netlink = 16, alg = 38, packet = 17, xdp = 44 } do
  try(name, C.socket(family, 1, 0))
  try(name, C.socket(family, 2, 0))
  try(name, C.socket(family, 3, 0))
  try(name, C.socket(family, 5, 0))
end
try('mount', C.mount('none', '/tmp', 'tmpfs', 0, nil))
try('umount', C.umount2('/proc', 2))
try('chroot', C.chroot('/tmp'))
for name, flag in pairs { user = 0x10000000, mounts = 0x20000, pids = 0x20000000, net = 0x40000000, ipc = 0x8000000 } do
  try(name, C.unshare(flag))
end
try('setns', C.setns(C.open('/proc/self/ns/net', 0, 0), 0))
try('shared memory', C.shmget(0, 4096, 1023))
try('queue', C.msgget(0, 1023))
try('semaphore', C.semget(0, 1, 1023))
try('personality', C.personality(0x40000))
try('root', C.setuid(0))
try('root', C.setgid(0))
try('name', C.sethostname('x', 1))
try('io_uring', C.syscall(425, 8, address(room), 0, 0, 0, 0))
try('clone3', C.syscall(435, address(room), 88, 0, 0, 0, 0))
try('fsopen', C.syscall(430, address(room), 0, 0, 0, 0, 0))
try('open_tree', C.syscall(428, -100, address(ffi.cast('const char *', '/')), 1, 0, 0, 0))
local x86, arm = { bpf = 321, keyctl = 250, add_key = 248, userfaultfd = 323, perf = 298 }
arm = { bpf = 280, keyctl = 219, add_key = 217, userfaultfd = 282, perf = 241 }
for name, number in pairs(jit.arch == 'x64' and x86 or arm) do
  try(name, C.syscall(number, 0, 0, 0, 0, 0, 0))
end
if C.getuid() == 0 or C.geteuid() == 0 or C.getgid() == 0 then print('root') end
for _, path in ipairs { '/var/run/docker.sock', '/run/docker.sock', '/run/containerd/containerd.sock', '/run/agnostics/socket' } do
  try(path, C.connect(C.socket(1, 1, 0), ffi.new('char[110]', '\1\0' .. path), 110))
end
print('end')
