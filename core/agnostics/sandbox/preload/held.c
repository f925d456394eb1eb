/* The held process: it says whether it can be forked soundly, waits, and forks for each test. A fork becomes the program:
 * it has the program's user, limits and streams, opens its file, and gets its own of what it would share. */
#define _GNU_SOURCE
#include "preload.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_GET_TID_ADDRESS
#define PR_GET_TID_ADDRESS 40
#endif
#ifndef PR_CAP_AMBIENT
#define PR_CAP_AMBIENT 47
#define PR_CAP_AMBIENT_CLEAR_ALL 4
#endif

static pid_t *thread_id; /* libc's own note of this thread's id */

/* --- the state that a fork would share --- */

void complain(char *reason, const char *text, const char *detail) { snprintf(reason, REASON_BYTES, text, detail); }

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
    *reason = 0;
    check_mappings(reason);
    note_descriptors(reason);
    if (prctl(PR_GET_TID_ADDRESS, &thread_id) || !thread_id || *thread_id != syscall(SYS_gettid))
        complain(reason, "this kernel does not tell where libc notes a thread's id%s", "");
    note_threads(reason);
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
    int fd = NEXT(open)(program_file.name, program_file.flags);
    if (fd < 0) return false;
    if (fd == place) return true;
    bool placed = dup3(fd, place, program_file.flags & O_CLOEXEC) == place;
    syscall(SYS_close, fd);
    return placed;
}

static void become_program(const struct fork_request *request, const int streams[3], int place) {
    setsid();
    bool ready = apply_limits(request) && connect_streams(streams) && become_user(request->uid);
    if (ready) prefer_for_oom_kill();
    ready = ready && open_program(place) && remake_descriptors();
    *program_file.name = 0;
    ready = ready && restart_threads();
    if (!say(ready ? 0 : errno, "") || !ready) _exit(127);
    syscall(SYS_close, HOLD_FD);
}

/* Wait for requests, and fork for each. Returns in the forks only. */
void hold(void) {
    char reason[REASON_BYTES];
    int saved = errno, place = program_file.fd, streams[3];
    struct fork_request request;
    check(reason);
    program_file.fd = -1;
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
