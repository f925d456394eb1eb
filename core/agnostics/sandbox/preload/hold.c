/* Holds an interpreter at its first use of the program's file, so that it can be forked for each test (held.c).
 *
 * The library is preloaded. It removes its variables from the environment before `main`, and hands them on to what the
 * process executes, so that wrappers reach the interpreter. The process that opens the file waits where it first reads
 * it, its size or its position.
 */
#define _GNU_SOURCE
#include "preload.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

extern char **environ;

struct program_file program_file = {.fd = -1};

static char hold_entry[sizeof HOLD_VARIABLE + NAME_MAX + 2], preload_entry[PATH_MAX];

/* Take one of our variables, the last in the environment, off it and out of /proc/self/environ. */
static void take_variable(const char *name, char *entry, size_t size) {
    char *value = getenv(name);
    if (!value || strlen(name) + strlen(value) + 2 > size) return;
    snprintf(entry, size, "%s=%s", name, value);
    char *start = value - strlen(name) - 1;
    unsetenv(name);
    memset(start, 0, strlen(entry));
}

void take_variables(void) {
    static bool taken;
    if (taken) return;
    taken = true;
    if (!getenv(HOLD_VARIABLE)) return;
    take_variable(HOLD_VARIABLE, hold_entry, sizeof hold_entry);
    take_variable("LD_PRELOAD", preload_entry, sizeof preload_entry);
    const char *name = hold_entry + sizeof HOLD_VARIABLE;
    if (*hold_entry && strlen(name) < sizeof program_file.name) strcpy(program_file.name, name);
}

__attribute__((constructor)) static void begin(void) { take_variables(); }

static bool is_program(const char *path) {
    char folder[PATH_MAX];
    take_variables();
    if (!*program_file.name || !path) return false;
    size_t length = *path == '/' && getcwd(folder, sizeof folder) ? strlen(folder) : 0;
    if (length && !strncmp(path, folder, length) && path[length] == '/') path += length + 1;
    while (!strncmp(path, "./", 2)) path += 2;
    return !strcmp(path, program_file.name);
}

static void use(int fd) {
    if (fd >= 0 && fd == program_file.fd) hold();
}

static int note(int fd, int flags) {
    if (fd >= 0) program_file.fd = fd, program_file.flags = flags & ~(O_CREAT | O_EXCL | O_TRUNC);
    return fd;
}

/* Whether an open of `path` is to be noted; one that is open already is used by that. */
static bool notes(const char *path, int flags) {
    if ((flags & O_ACCMODE) != O_RDONLY || flags & O_PATH || !is_program(path)) return false;
    use(program_file.fd);
    return *program_file.name;
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
    if (fd >= 0 && fd == program_file.fd) program_file.fd = -1;
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
    if (*program_file.name) all[size++] = preload_entry, all[size++] = hold_entry;
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
