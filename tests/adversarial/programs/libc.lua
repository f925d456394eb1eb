-- What a Lua program calls in the C library; stands before each of the programs here.
local ffi = require('ffi')
local C = ffi.C
ffi.cdef [[
int fork(void); int setsid(void); int setpgid(int, int); int getpid(void); int getppid(void); int kill(int, int);
int waitpid(int, int *, int); void _exit(int); int pause(void); int usleep(unsigned); void abort(void);
void (*signal(int, void (*)(int)))(int); int execvp(const char *, const char *const *);
int open(const char *, int, int); int close(int); int dup2(int, int); int fcntl(int, int, long); int flock(int, int);
long write(int, const void *, size_t); long read(int, void *, size_t); long lseek(int, long, int);
int ftruncate(int, long); int fchmod(int, int); int memfd_create(const char *, unsigned); int posix_fallocate(int, long, long);
int mkdir(const char *, int); int mkfifo(const char *, int); int symlink(const char *, const char *);
int link(const char *, const char *); int chmod(const char *, int); int rename(const char *, const char *);
int unlink(const char *); int chdir(const char *); long readlink(const char *, char *, size_t);
void *opendir(const char *); void *malloc(size_t); void *memset(void *, int, size_t);
void *mmap(void *, size_t, int, int, int, long); int pthread_create(void *, void *, void *(*)(void *), void *);
int getrlimit(int, uint64_t *); int setrlimit(int, const uint64_t *); int prlimit(int, int, const uint64_t *, uint64_t *);
int nice(int); int setpriority(int, unsigned, int); int sched_setaffinity(int, size_t, const void *);
int sched_setscheduler(int, int, const int *); long ptrace(long, int, void *, void *);
long process_vm_readv(int, const void *, unsigned long, const void *, unsigned long, unsigned long);
int socket(int, int, int); int connect(int, const void *, unsigned); int bind(int, const void *, unsigned);
int socketpair(int, int, int, int *); int pipe(int *); int eventfd(unsigned, int); int epoll_create1(int);
int inotify_init1(int); int timer_create(int, void *, void *);
int unshare(int); int setns(int, int); int mount(const char *, const char *, const char *, unsigned long, const void *);
int umount2(const char *, int); int chroot(const char *); int shmget(int, size_t, int); int msgget(int, int);
int semget(int, int, int); int personality(unsigned long); int setuid(unsigned); int setgid(unsigned);
int sethostname(const char *, size_t); unsigned getuid(void); unsigned geteuid(void); unsigned getgid(void);
long syscall(long, long, long, long, long, long, long);
]]
local function address(pointer) return tonumber(ffi.cast('intptr_t', pointer)) end
