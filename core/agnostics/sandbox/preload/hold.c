/* Holds an interpreter at its first use of the program's file, and forks it for each test (harness/fork_server.c).
 *
 * The library is preloaded. It removes its variables from the environment before `main`, and hands them on to what the
 * process executes, so that wrappers reach the interpreter. The process that opens the file waits where it first reads
 * it, its size or its position; each fork becomes the user of programs, gives up every capability, opens the file and
 * the standard streams anew, and continues.
 */
#define _GNU_SOURCE
#include "fork_server.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef PR_GET_TID_ADDRESS
#define PR_GET_TID_ADDRESS 40
#endif
#ifndef PR_CAP_AMBIENT
#define PR_CAP_AMBIENT 47
#define PR_CAP_AMBIENT_CLEAR_ALL 4
#endif

#define EXPORT __attribute__((visibility("default")))

extern char **environ;

static char file[NAME_MAX + 1]; /* empty: nothing is held (any more) */
static char hold_entry[sizeof HOLD_VARIABLE + NAME_MAX + 2], preload_entry[PATH_MAX];
static int opened = -1, opened_flags; /* the program's file, open but not used yet */
static pid_t *thread_id;              /* libc's own note of this thread's id */

/* Take one of our variables, the last in the environment, off it and out of /proc/self/environ. */
static void take_variable(const char *name, char *entry, size_t size) {
    char *value = getenv(name);
    if (!value || strlen(name) + strlen(value) + 2 > size) return;
    snprintf(entry, size, "%s=%s", name, value);
    char *start = value - strlen(name) - 1;
    unsetenv(name);
    memset(start, 0, strlen(entry));
}

static void take_variables(void) {
    static bool taken;
    if (taken) return;
    taken = true;
    if (!getenv(HOLD_VARIABLE)) return;
    take_variable(HOLD_VARIABLE, hold_entry, sizeof hold_entry);
    take_variable("LD_PRELOAD", preload_entry, sizeof preload_entry);
    const char *name = hold_entry + sizeof HOLD_VARIABLE;
    if (*hold_entry && strlen(name) < sizeof file) strcpy(file, name);
}

__attribute__((constructor)) static void begin(void) { take_variables(); }

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

/* The function `name` that this library's stands before. */
#define NEXT(name)                                                                                                     \
    ({                                                                                                                 \
        static __typeof__(&name) known;                                                                                \
        if (!known) known = (__typeof__(&name))next(#name);                                                            \
        known;                                                                                                         \
    })

static bool is_program(const char *path) {
    char folder[PATH_MAX];
    take_variables();
    if (!*file || !path) return false;
    size_t length = *path == '/' && getcwd(folder, sizeof folder) ? strlen(folder) : 0;
    if (length && !strncmp(path, folder, length) && path[length] == '/') path += length + 1;
    while (!strncmp(path, "./", 2)) path += 2;
    return !strcmp(path, file);
}

/* --- the state that a fork would share --- */

static const char *complain(char *reason, const char *text, const char *detail) {
    snprintf(reason, REASON_BYTES, text, detail);
    return reason;
}

static int count_threads(void) {
    int count = 0;
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *entry; threads && (entry = readdir(threads));) count += entry->d_name[0] != '.';
    if (threads) closedir(threads);
    return count;
}

static void check_descriptors(char *reason) {
    DIR *descriptors = opendir("/proc/self/fd");
    if (!descriptors) complain(reason, "%s cannot be read", "/proc/self/fd");
    for (struct dirent *entry; descriptors && (entry = readdir(descriptors));) {
        int fd = atoi(entry->d_name);
        if (fd < 3 || fd == opened || fd == HOLD_FD || fd == dirfd(descriptors)) continue;
        char target[100];
        ssize_t size = readlinkat(dirfd(descriptors), entry->d_name, target, sizeof target - 1);
        target[size > 0 ? size : 0] = 0;
        complain(reason, "it holds a descriptor that forks would share (%s)", target);
    }
    if (descriptors) closedir(descriptors);
}

static void check_mappings(char *reason) {
    char line[PATH_MAX + 128], rights[5];
    FILE *maps = NEXT(fopen)("/proc/self/maps", "re");
    if (!maps) complain(reason, "%s cannot be read", "/proc/self/maps");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%*s %4s", rights) == 1 && rights[1] == 'w' && rights[3] == 's')
            complain(reason, "it has writable memory that forks would share%s", "");
    if (maps) fclose(maps);
}

/* Why this process cannot be forked soundly; empty if it can. */
static void check(char *reason) {
    char number[16];
    int threads = count_threads();
    snprintf(number, sizeof number, "%d", threads);
    *reason = 0;
    check_mappings(reason);
    check_descriptors(reason);
    if (prctl(PR_GET_TID_ADDRESS, &thread_id) || !thread_id || *thread_id != syscall(SYS_gettid))
        complain(reason, "this kernel does not tell where libc notes a thread's id%s", "");
    if (threads != 1) complain(reason, "it has %s threads, of which a fork has only one", number);
}

/* --- the held process --- */

static bool say(int error, const char *reason) {
    struct fork_reply reply = {(int32_t)syscall(SYS_getpid), error, ""};
    snprintf(reply.reason, sizeof reply.reason, "%s", reason);
    return send(HOLD_FD, &reply, sizeof reply, MSG_NOSIGNAL) == (ssize_t)sizeof reply;
}

static bool receive(struct fork_request *request, int streams[3]) {
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(3 * sizeof(int))];
    } control;
    struct iovec data = {request, sizeof *request};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t size;
    while ((size = recvmsg(HOLD_FD, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
    }
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (size != (ssize_t)sizeof *request || !header || header->cmsg_len != CMSG_LEN(3 * sizeof(int))) return false;
    memcpy(streams, CMSG_DATA(header), 3 * sizeof(int));
    return true;
}

/* A fork whose parent is the harness. Not libc's, which cannot do that: it has libc's note of the thread's id set. */
static long fork_for_harness(void) {
    unsigned long flags = CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD;
#ifdef __x86_64__
    return syscall(SYS_clone, flags, 0UL, NULL, thread_id, 0UL);
#else
    return syscall(SYS_clone, flags, 0UL, NULL, 0UL, thread_id);
#endif
}

/* --- a fork, before it runs the program; as in harness/spawn.c --- */

static bool limit(int resource, uint64_t value) {
    struct rlimit both = {value, value};
    return !setrlimit(resource, &both);
}

static bool apply_limits(const struct fork_request *request) {
    return limit(RLIMIT_FSIZE, request->file_bytes) && limit(RLIMIT_NPROC, request->processes) &&
           (!request->data_mb || limit(RLIMIT_DATA, request->data_mb << 20));
}

static bool connect_streams(const int streams[3]) {
    for (int fd = 0; fd < 3; fd++)
        if (dup2(streams[fd], fd) != fd) return false;
    for (int fd = 0; fd < 3; fd++) syscall(SYS_close, streams[fd]);
    return true;
}

static bool give_up_capabilities(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    return !prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) && !syscall(SYS_capset, &header, none);
}

/* Then its files in /proc are its own again, as those of a program that was executed. */
static bool become_user(uid_t uid) {
    return !syscall(SYS_setresgid, uid, uid, uid) && !syscall(SYS_setresuid, uid, uid, uid) && give_up_capabilities() &&
           !prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static void prefer_for_oom_kill(void) {
    int fd = NEXT(open)("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (write(fd, "1000", 4) < 0) { /* not fatal: the memory limit holds either way */
    }
    syscall(SYS_close, fd);
}

static bool open_program(int place) {
    int fd = NEXT(open)(file, opened_flags);
    if (fd < 0) return false;
    if (fd == place) return true;
    bool placed = dup3(fd, place, opened_flags & O_CLOEXEC) == place;
    syscall(SYS_close, fd);
    return placed;
}

static void become_program(const struct fork_request *request, const int streams[3], int place) {
    setsid();
    bool ready = apply_limits(request) && connect_streams(streams) && become_user(request->uid);
    if (ready) prefer_for_oom_kill();
    ready = ready && open_program(place);
    *file = 0;
    if (!say(ready ? 0 : errno, "") || !ready) _exit(127);
    syscall(SYS_close, HOLD_FD);
}

/* Wait for requests, and fork for each. Returns in the forks only. */
static void hold(void) {
    char reason[REASON_BYTES];
    int saved = errno, place = opened, streams[3];
    struct fork_request request;
    check(reason);
    opened = -1;
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (!say(0, reason)) _exit(127);
    while (receive(&request, streams)) {
        long pid = fork_for_harness();
        if (!pid) {
            become_program(&request, streams, place);
            errno = saved;
            return;
        }
        if (pid < 0) say(errno, "");
        for (int i = 0; i < 3; i++) syscall(SYS_close, streams[i]);
    }
    _exit(0);
}

static void use(int fd) {
    if (fd >= 0 && fd == opened) hold();
}

static int note(int fd, int flags) {
    if (fd >= 0) opened = fd, opened_flags = flags & ~(O_CREAT | O_EXCL | O_TRUNC);
    return fd;
}

/* Whether an open of `path` is to be noted; one that is open already is used by that. */
static bool notes(const char *path, int flags) {
    if ((flags & O_ACCMODE) != O_RDONLY || flags & O_PATH || !is_program(path)) return false;
    use(opened);
    return *file;
}

/* --- the functions that open the file --- */

static mode_t mode_of(int flags, va_list arguments) {
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

#define OPEN(name)                                                                                                     \
    EXPORT int name(const char *path, int flags, ...) {                                                                \
        va_list arguments;                                                                                             \
        va_start(arguments, flags);                                                                                    \
        mode_t mode = mode_of(flags, arguments);                                                                       \
        va_end(arguments);                                                                                             \
        bool noted = notes(path, flags);                                                                               \
        int fd = NEXT(name)(path, flags, mode);                                                                        \
        return noted ? note(fd, flags) : fd;                                                                           \
    }
#define OPENAT(name)                                                                                                   \
    EXPORT int name(int folder, const char *path, int flags, ...) {                                                    \
        va_list arguments;                                                                                             \
        va_start(arguments, flags);                                                                                    \
        mode_t mode = mode_of(flags, arguments);                                                                       \
        va_end(arguments);                                                                                             \
        bool noted = (folder == AT_FDCWD || (path && *path == '/')) && notes(path, flags);                             \
        int fd = NEXT(name)(folder, path, flags, mode);                                                                \
        return noted ? note(fd, flags) : fd;                                                                           \
    }
#define OPEN_CHECKED(name)                                                                                             \
    EXPORT int name(const char *path, int flags);                                                                      \
    EXPORT int name(const char *path, int flags) {                                                                     \
        bool noted = notes(path, flags);                                                                               \
        int fd = NEXT(name)(path, flags);                                                                              \
        return noted ? note(fd, flags) : fd;                                                                           \
    }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
OPEN_CHECKED(__open_2)
OPEN_CHECKED(__open64_2)

static ssize_t read_stream(void *cookie, char *buffer, size_t size) {
    int fd = (int)(intptr_t)cookie;
    use(fd);
    return NEXT(read)(fd, buffer, size);
}

static int seek_stream(void *cookie, off64_t *offset, int from) {
    int fd = (int)(intptr_t)cookie;
    use(fd);
    *offset = NEXT(lseek64)(fd, *offset, from);
    return *offset < 0 ? -1 : 0;
}

static int close_stream(void *cookie) { return close((int)(intptr_t)cookie); }

/* A stream of our own: libc's reads its file without a call that could be held. */
static FILE *open_stream(const char *path, const char *mode) {
    static const cookie_io_functions_t functions = {.read = read_stream, .seek = seek_stream, .close = close_stream};
    int flags = O_RDONLY | (strchr(mode, 'e') ? O_CLOEXEC : 0);
    int fd = note(NEXT(open)(path, flags), flags);
    FILE *stream = fd < 0 ? NULL : fopencookie((void *)(intptr_t)fd, mode, functions);
    if (stream) stream->_fileno = fd; /* for fileno(3) */
    return stream;
}

#define FOPEN(name)                                                                                                    \
    EXPORT FILE *name(const char *path, const char *mode) {                                                            \
        bool plain = *mode == 'r' && !strpbrk(mode, "+,");                                                             \
        return plain && notes(path, O_RDONLY) ? open_stream(path, mode) : NEXT(name)(path, mode);                      \
    }

FOPEN(fopen)
FOPEN(fopen64)

/* --- the functions that use it --- */

#define USE(type, name, parameters, ...)                                                                               \
    EXPORT type name parameters {                                                                                      \
        use(fd);                                                                                                       \
        return NEXT(name)(__VA_ARGS__);                                                                                \
    }

ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room);
int __fxstat(int version, int fd, struct stat *status);
int __fxstat64(int version, int fd, struct stat64 *status);
struct statx;
int statx(int fd, const char *path, int flags, unsigned mask, struct statx *status);

USE(ssize_t, read, (int fd, void *buffer, size_t size), fd, buffer, size)
USE(ssize_t, __read_chk, (int fd, void *buffer, size_t size, size_t room), fd, buffer, size, room)
USE(ssize_t, pread, (int fd, void *buffer, size_t size, off_t offset), fd, buffer, size, offset)
USE(ssize_t, pread64, (int fd, void *buffer, size_t size, off64_t offset), fd, buffer, size, offset)
USE(ssize_t, readv, (int fd, const struct iovec *parts, int count), fd, parts, count)
USE(off_t, lseek, (int fd, off_t offset, int from), fd, offset, from)
USE(off64_t, lseek64, (int fd, off64_t offset, int from), fd, offset, from)
USE(int, __fxstat, (int version, int fd, struct stat *status), version, fd, status)
USE(int, __fxstat64, (int version, int fd, struct stat64 *status), version, fd, status)
USE(int, statx, (int fd, const char *path, int flags, unsigned mask, struct statx *status), fd, path, flags, mask, status)
USE(int, dup, (int fd), fd)
USE(int, dup2, (int fd, int to), fd, to)
USE(int, dup3, (int fd, int to, int flags), fd, to, flags)
USE(FILE *, fdopen, (int fd, const char *mode), fd, mode)
USE(void *, mmap, (void *at, size_t size, int rights, int flags, int fd, off_t offset), at, size, rights, flags, fd, offset)
USE(void *, mmap64, (void *at, size_t size, int rights, int flags, int fd, off64_t offset), at, size, rights, flags, fd,
    offset)

/* Functions of the C library since 2.33; before, they are in no library, and nobody calls them. */
#undef fstat
#undef fstat64
EXPORT int hold_fstat(int fd, struct stat *status) __asm__("fstat");
EXPORT int hold_fstat(int fd, struct stat *status) {
    use(fd);
    return (int)syscall(SYS_fstat, fd, status);
}
EXPORT int hold_fstat64(int fd, struct stat64 *status) __asm__("fstat64");
EXPORT int hold_fstat64(int fd, struct stat64 *status) {
    use(fd);
    return (int)syscall(SYS_fstat, fd, status);
}

EXPORT int close(int fd) {
    if (fd >= 0 && fd == opened) opened = -1;
    return NEXT(close)(fd);
}

/* --- the functions that execute: our variables go on, last, until the file is used --- */

static size_t count(char *const *list) {
    size_t size = 0;
    while (list && list[size]) size++;
    return size;
}

static void extend(char **all, char *const *environment) {
    size_t size = count(environment);
    for (size_t i = 0; i < size; i++) all[i] = environment[i];
    if (*file) all[size++] = preload_entry, all[size++] = hold_entry;
    all[size] = NULL;
}

EXPORT int execve(const char *path, char *const argv[], char *const environment[]) {
    char *all[count(environment) + 3];
    take_variables();
    extend(all, environment);
    return NEXT(execve)(path, argv, all);
}

EXPORT int execv(const char *path, char *const argv[]) { return execve(path, argv, environ); }

EXPORT int execvpe(const char *name, char *const argv[], char *const environment[]) {
    char *all[count(environment) + 3];
    take_variables();
    extend(all, environment);
    return NEXT(execvpe)(name, argv, all);
}

EXPORT int execvp(const char *name, char *const argv[]) { return execvpe(name, argv, environ); }
