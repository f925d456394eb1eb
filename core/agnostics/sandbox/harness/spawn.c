/* The start of a program: a child that shares the harness's memory until it executes (vfork), with its own limits. */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STACK_BYTES = 64 << 20, OPEN_FILES = 1024 };

struct child {
    const struct command *command;
    volatile int error;
};

/* The path of `name` by the PATH of `environment`; `name` itself if it contains a slash; NULL if there is none. */
const char *find_executable(const char *name, char **environment, char *buffer, size_t size) {
    if (strchr(name, '/')) return name;
    const char *path = "/usr/local/bin:/usr/bin:/bin";
    for (; *environment; environment++)
        if (!strncmp(*environment, "PATH=", 5)) path = *environment + 5;
    while (*path) {
        size_t length = strcspn(path, ":");
        int needed = snprintf(buffer, size, "%.*s/%s", (int)length, path, name);
        if (needed > 0 && (size_t)needed < size && !access(buffer, X_OK)) return buffer;
        path += length + (path[length] == ':');
    }
    return NULL;
}

static void limit(int resource, uint64_t value) {
    struct rlimit both = {value, value};
    setrlimit(resource, &both);
}

void apply_fixed_limits(void) {
    limit(RLIMIT_STACK, STACK_BYTES);
    limit(RLIMIT_NOFILE, OPEN_FILES);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_MSGQUEUE, 0);
    limit(RLIMIT_MEMLOCK, 64 << 10);
}

static void apply_limits(const struct command *command) {
    apply_fixed_limits();
    limit(RLIMIT_FSIZE, command->file_bytes);
    if (settings.uid || settings.namespaced) limit(RLIMIT_NPROC, command->processes); /* else it counts other slots */
    if (command->data_mb) limit(RLIMIT_DATA, command->data_mb << 20);
}

/* Let the kernel kill the program, not the harness, when memory runs out. */
static void prefer_for_oom_kill(void) {
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (write(fd, "1000", 4) < 0) { /* not fatal: the memory limit holds either way */
    }
    close(fd);
}

/* Raw calls: libc's change the user of all threads, the harness's included while its memory is shared. */
static bool become_user(uid_t uid) {
    return !uid || (!syscall(SYS_setresgid, uid, uid, uid) && !syscall(SYS_setresuid, uid, uid, uid));
}

static int exec_child(void *argument) {
    struct child *child = argument;
    const struct command *command = child->command;
    setsid();
    prefer_for_oom_kill();
    apply_limits(command);
    bool connected = dup2(command->in, 0) == 0 && dup2(command->out, 1) == 1 && dup2(command->err, 2) == 2;
    if (connected && become_user(settings.uid) && refuse_harness_calls())
        execve(command->path, command->argv, command->environment);
    child->error = errno;
    _exit(127);
}

/* Start `command`. Returns its pid, with a descriptor that becomes readable when it ends; or -1, with the errno in
 * `error`, if it could not be started. Kernels without such descriptors, as gVisor's, leave -1. */
pid_t spawn(const struct command *command, int *pidfd, int *error) {
    pid_t forked = command->forked ? fork_program(command, pidfd) : -1;
    if (forked > 0) return forked;
    struct child child = {command, 0};
    *pidfd = -1;
    pid_t pid = start_process(exec_child, &child, pidfd);
    *error = pid < 0 ? errno : child.error;
    if (pid < 0 || !child.error) return pid;
    close(*pidfd);
    while (syscall(SYS_wait4, pid, NULL, 0, NULL) < 0 && errno == EINTR) {
    }
    return -1;
}
