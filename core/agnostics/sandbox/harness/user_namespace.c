/* A user namespace for a slot that root starts, or root in a container: root in it is an ordinary user of the machine. */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_map(pid_t process, const char *name, const char *map) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", process, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, map, strlen(map)) != (ssize_t)strlen(map)) _exit(1);
    close(fd);
}

/* Write the maps of `process` once it has left this namespace, which only a process in here may do. */
static void write_maps(pid_t process, int left, const char *map) {
    char byte;
    if (read(left, &byte, 1) != 1) _exit(1);
    write_map(process, "uid_map", map);
    write_map(process, "gid_map", map);
    _exit(0);
}

/* Enter a user namespace in which `map` (lines of "inside outside count", the same for users and groups) holds, as its
 * root. */
void enter_user_namespace(const char *map) {
    int ends[2], status = 1;
    pid_t self = getpid();
    if (pipe(ends)) die("pipe");
    pid_t writer = fork();
    if (writer == 0) write_maps(self, ends[0], map);
    if (writer < 0 || unshare(CLONE_NEWUSER) || write(ends[1], "x", 1) != 1) die("harness: no user namespace");
    while (waitpid(writer, &status, 0) < 0 && errno == EINTR) {
    }
    close(ends[0]), close(ends[1]);
    if (status || setgroups(0, NULL) || setresgid(0, 0, 0) || setresuid(0, 0, 0)) die("harness: no user namespace");
}

/* Whether `enter_user_namespace` works here, seen in a child: some engines, kernels and runtimes refuse it. */
bool can_enter_user_namespace(const char *map) {
    int status = 1;
    pid_t trial = fork();
    if (trial == 0) {
        enter_user_namespace(map);
        _exit(0);
    }
    while (trial > 0 && waitpid(trial, &status, 0) < 0 && errno == EINTR) {
    }
    return trial > 0 && status == 0;
}
