/* The system call filter: calls that no runtime needs, or that namespaces and limits do not confine, fail as if the
 * kernel did not have them, without a kill. It is installed once, and every program inherits it; a second one refuses
 * programs what only the harness needs. */
#include "harness.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#define CONTAINER_ARCHS "\"SCMP_ARCH_X86_64\", \"SCMP_ARCH_X86\", \"SCMP_ARCH_X32\""
#else
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#define CONTAINER_ARCHS "\"SCMP_ARCH_AARCH64\", \"SCMP_ARCH_ARM\""
#endif

enum {
    X32_BIT = 0x40000000,
    SOCKET_TYPE = 0xf, /* the rest of the argument are flags */
    ANY_NAMESPACE =
        CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET
};

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)
#define REFUSE(error) RETURN(SECCOMP_RET_ERRNO | (error))
#define IF_EQUAL(value, skip_else) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip_else)

struct call {
    const char *name;
    int number;
};
#define CALL(name) {#name, SYS_##name}

/* What runtimes and compilers need of the kernel. Not among them, though container engines allow it: aio and io_uring,
 * System V and POSIX queues and shared memory, which outlive their makers; sendmsg, since descriptors that travel in a
 * cycle of sockets outlive every process, with the memory behind them; other processes' memory; landlock and seccomp. */
static const struct call allowed[] = {
    /* files */
    CALL(read), CALL(write), CALL(pread64), CALL(pwrite64), CALL(readv), CALL(writev), CALL(preadv), CALL(pwritev),
    CALL(preadv2), CALL(pwritev2), CALL(openat), {"openat2", 437}, CALL(close), {"close_range", 436}, CALL(lseek),
    CALL(dup), CALL(dup3), CALL(fcntl), CALL(ioctl), CALL(flock), CALL(ftruncate), CALL(truncate), CALL(fallocate),
    CALL(fadvise64), CALL(readahead), CALL(fsync), CALL(fdatasync), CALL(sync_file_range), CALL(sendfile),
    CALL(copy_file_range), CALL(splice), CALL(tee), CALL(vmsplice), CALL(pipe2), CALL(fstat), CALL(newfstatat),
    CALL(statx), CALL(statfs), CALL(fstatfs), CALL(faccessat), {"faccessat2", 439}, CALL(getcwd), CALL(chdir),
    CALL(fchdir), CALL(getdents64), CALL(mkdirat), CALL(mknodat), CALL(linkat), CALL(symlinkat), CALL(readlinkat),
    CALL(unlinkat), CALL(renameat), CALL(renameat2), CALL(fchmod), CALL(fchmodat), {"fchmodat2", 452}, CALL(fchown),
    CALL(fchownat), CALL(umask), CALL(utimensat), CALL(getxattr), CALL(lgetxattr), CALL(fgetxattr), CALL(listxattr),
    CALL(llistxattr), CALL(flistxattr),
    /* events */
    CALL(ppoll), CALL(pselect6), CALL(epoll_create1), CALL(epoll_ctl), CALL(epoll_pwait), {"epoll_pwait2", 441},
    CALL(eventfd2), CALL(signalfd4), CALL(timerfd_create), CALL(timerfd_settime), CALL(timerfd_gettime),
    CALL(inotify_init1), CALL(inotify_add_watch), CALL(inotify_rm_watch),
    /* sockets of the program itself; socket and socketpair are below */
    CALL(bind), CALL(listen), CALL(accept), CALL(accept4), CALL(connect), CALL(getsockname), CALL(getpeername),
    CALL(setsockopt), CALL(getsockopt), CALL(sendto), CALL(recvfrom), CALL(recvmsg), CALL(recvmmsg), CALL(shutdown),
    /* memory */
    CALL(brk), CALL(mmap), CALL(munmap), CALL(mremap), CALL(mprotect), CALL(madvise), CALL(msync), CALL(mincore),
    CALL(mlock), CALL(mlock2), CALL(mlockall), CALL(munlock), CALL(munlockall), CALL(memfd_create),
    CALL(membarrier), CALL(pkey_alloc), CALL(pkey_free), CALL(pkey_mprotect), {"map_shadow_stack", 453}, {"mseal", 462},
    /* processes and threads; clone is below */
    CALL(execve), CALL(execveat), CALL(exit), CALL(exit_group), CALL(wait4), CALL(waitid), CALL(kill), CALL(tkill),
    CALL(tgkill), {"pidfd_open", 434}, {"pidfd_send_signal", 424}, CALL(getpid), CALL(getppid), CALL(gettid),
    CALL(getpgid), CALL(setpgid), CALL(getsid), CALL(setsid), CALL(set_tid_address), CALL(set_robust_list),
    CALL(get_robust_list), CALL(futex), {"futex_waitv", 449}, {"futex_wake", 454}, {"futex_wait", 455},
    {"futex_requeue", 456}, CALL(rseq), CALL(prctl), CALL(restart_syscall), CALL(getrusage), CALL(times),
    CALL(getrlimit), CALL(setrlimit), CALL(getpriority), CALL(ioprio_get), CALL(getcpu), CALL(sched_yield),
    CALL(sched_getaffinity), CALL(sched_getparam), CALL(sched_getscheduler), CALL(sched_getattr),
    CALL(sched_get_priority_max), CALL(sched_get_priority_min), CALL(sched_rr_get_interval),
    /* users, as far as no new privileges allow */
    CALL(getuid), CALL(geteuid), CALL(getgid), CALL(getegid), CALL(getresuid), CALL(getresgid), CALL(getgroups),
    CALL(setuid), CALL(setgid), CALL(setreuid), CALL(setregid), CALL(setresuid), CALL(setresgid), CALL(setgroups),
    CALL(setfsuid), CALL(setfsgid), CALL(capget), CALL(capset),
    /* signals */
    CALL(rt_sigaction), CALL(rt_sigprocmask), CALL(rt_sigpending), CALL(rt_sigqueueinfo), CALL(rt_tgsigqueueinfo),
    CALL(rt_sigreturn), CALL(rt_sigsuspend), CALL(rt_sigtimedwait), CALL(sigaltstack),
    /* time */
    CALL(gettimeofday), CALL(clock_gettime), CALL(clock_getres), CALL(clock_nanosleep), CALL(nanosleep),
    CALL(getitimer), CALL(setitimer), CALL(timer_create), CALL(timer_settime), CALL(timer_gettime),
    CALL(timer_getoverrun), CALL(timer_delete),
    /* the machine */
    CALL(uname), CALL(sysinfo), CALL(getrandom),
#ifdef __x86_64__
    CALL(open), CALL(creat), CALL(stat), CALL(lstat), CALL(access), CALL(pipe), CALL(dup2), CALL(select),
    CALL(poll), CALL(epoll_create), CALL(epoll_wait), CALL(eventfd), CALL(signalfd), CALL(inotify_init),
    CALL(getdents), CALL(mkdir), CALL(rmdir), CALL(mknod), CALL(link), CALL(symlink), CALL(readlink), CALL(unlink),
    CALL(rename), CALL(chmod), CALL(chown), CALL(lchown), CALL(utime), CALL(utimes), CALL(futimesat), CALL(fork),
    CALL(vfork), CALL(getpgrp), CALL(alarm), CALL(pause), CALL(time), CALL(arch_prctl), CALL(set_thread_area),
    CALL(get_thread_area),
#endif
};

/* Descriptors that travel in messages: in a cycle they outlive every process, with the memory behind them. The harness
 * itself needs them for the fork server. */
static const struct call messages[] = {CALL(sendmsg), CALL(sendmmsg)};

/* The harness's, to protect files of its own user (mounts.c). */
static const struct call mounts[] = {CALL(mount), CALL(umount2)};

/* The harness's, to start a process in a control group of version 2 (program_group.c). Its flags are behind a pointer, so
 * programs do not get it: libc falls back to clone. */
static const struct call clone3_call = {"clone3", 435};

/* Calls that do nothing here but keep the machine's disks busy. */
static const int ignored[] = {SYS_sync, SYS_syncfs};

/* Attributes of files: those of a folder that stays would reach the next program. The calls fail as on a file system
 * without them. */
static const int attributes[] = {SYS_setxattr,    SYS_lsetxattr,    SYS_fsetxattr,
                                 SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr};

/* Calls that a process of the same user could direct at the harness; their first argument is a process id. */
static const struct call targeted[] = {CALL(prlimit64), CALL(sched_setaffinity), CALL(sched_setparam),
                                       CALL(sched_setscheduler), CALL(sched_setattr)};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct sock_filter program[2 * COUNT(allowed) + 128];
static unsigned short length;

static void add(struct sock_filter instruction) { program[length++] = instruction; }

static void allow(int call) {
    add((struct sock_filter)IF_EQUAL((uint32_t)call, 1));
    add((struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
}

static void refuse(int call, int error) {
    add((struct sock_filter)IF_EQUAL((uint32_t)call, 1));
    add((struct sock_filter)REFUSE((uint32_t)error));
}

static void refuse_if_targeting_harness(int call) {
    add((struct sock_filter)IF_EQUAL((uint32_t)call, 4));
    add((struct sock_filter)LOAD(args[0]));
    add((struct sock_filter)IF_EQUAL(1, 1));
    add((struct sock_filter)REFUSE(EPERM));
    add((struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
}

static void refuse_unless_argument(int call, uint32_t value, int error) {
    add((struct sock_filter)IF_EQUAL((uint32_t)call, 4));
    add((struct sock_filter)LOAD(args[0]));
    add((struct sock_filter)IF_EQUAL(value, 1));
    add((struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
    add((struct sock_filter)REFUSE((uint32_t)error));
}

/* Beside sockets of the machine itself only TCP over IPv4, whose one interface is the slot's own. */
static void allow_loopback_sockets(void) {
    add((struct sock_filter)IF_EQUAL(SYS_socket, 12));
    add((struct sock_filter)LOAD(args[0]));
    add((struct sock_filter)IF_EQUAL(AF_UNIX, 1));
    add((struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
    add((struct sock_filter)IF_EQUAL(AF_INET, 6));
    add((struct sock_filter)LOAD(args[1]));
    add((struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, SOCKET_TYPE));
    add((struct sock_filter)IF_EQUAL(SOCK_STREAM, 3));
    add((struct sock_filter)LOAD(args[2]));
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 2, 0));
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 1, 0));
    add((struct sock_filter)REFUSE(EAFNOSUPPORT));
    add((struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
}

static void refuse_priority_of_others(void) {
    add((struct sock_filter)IF_EQUAL(SYS_setpriority, 6));
    add((struct sock_filter)LOAD(args[0]));
    add((struct sock_filter)IF_EQUAL(0, 3)); /* PRIO_PROCESS */
    add((struct sock_filter)LOAD(args[1]));
    add((struct sock_filter)IF_EQUAL(0, 1));
    add((struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
    add((struct sock_filter)REFUSE(EPERM));
}

static void refuse_new_namespaces(void) {
    add((struct sock_filter)IF_EQUAL(SYS_clone, 4));
    add((struct sock_filter)LOAD(args[0]));
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, ANY_NAMESPACE, 0, 1));
    add((struct sock_filter)REFUSE(EPERM));
    add((struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
}

static void ask_harness(int call) {
    add((struct sock_filter)IF_EQUAL((uint32_t)call, 1));
    add((struct sock_filter)RETURN(SECCOMP_RET_USER_NOTIF));
}

static void compose(void) {
    add((struct sock_filter)LOAD(arch));
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0));
    add((struct sock_filter)REFUSE(ENOSYS));
    add((struct sock_filter)LOAD(nr));
#ifdef __x86_64__
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, X32_BIT, 0, 1));
    add((struct sock_filter)REFUSE(ENOSYS));
#endif
    if (answers_memory_requests()) ask_harness(SYS_memfd_create);
    for (size_t i = 0; i < COUNT(allowed); i++) allow(allowed[i].number);
    for (size_t i = 0; settings.hold_library && i < COUNT(messages); i++) allow(messages[i].number);
    for (size_t i = 0; has_own_mounts() && i < COUNT(mounts); i++) allow(mounts[i].number);
    for (size_t i = 0; i < COUNT(ignored); i++) refuse(ignored[i], 0);
    for (size_t i = 0; i < COUNT(attributes); i++) refuse(attributes[i], EOPNOTSUPP);
    refuse_new_namespaces();
    if (settings.loopback) allow_loopback_sockets();
    else refuse_unless_argument(SYS_socket, AF_UNIX, EAFNOSUPPORT);
    refuse_unless_argument(SYS_socketpair, AF_UNIX, EAFNOSUPPORT);
    for (size_t i = 0; i < COUNT(targeted); i++) refuse_if_targeting_harness(targeted[i].number);
    refuse_priority_of_others();
    if (names_group_at_start()) allow(clone3_call.number);
    add((struct sock_filter)REFUSE(ENOSYS));
}

/* Refuse in this process, a program to be, what the harness's filter allows for the harness itself. */
bool refuse_harness_calls(void) {
    struct sock_filter small[] = {LOAD(nr),
                                  IF_EQUAL(SYS_sendmsg, 1), REFUSE(ENOSYS), IF_EQUAL(SYS_sendmmsg, 1), REFUSE(ENOSYS),
                                  IF_EQUAL(SYS_mount, 1), REFUSE(ENOSYS), IF_EQUAL(SYS_umount2, 1), REFUSE(ENOSYS),
                                  IF_EQUAL((uint32_t)clone3_call.number, 1), REFUSE(ENOSYS),
                                  RETURN(SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {COUNT(small), small};
    bool needed = settings.hold_library || has_own_mounts() || names_group_at_start();
    return !needed || !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
}

/* Without a listener, which older kernels do not have, calls that the harness would answer fail as if they were not
 * there. */
static bool install(const struct sock_fprog *filter) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return false;
    long listener = -1;
    if (answers_memory_requests())
        listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, filter);
    if (listener >= 0) listen_for_memory_requests((int)listener);
    return listener >= 0 || !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter, 0, 0);
}

void install_filter(void) {
    compose();
    struct sock_fprog filter = {length, program};
    if (install(&filter)) return;
    perror("harness: cannot install the system call filter");
    exit(3);
}

static void print_names(const struct call *calls, size_t count) {
    for (size_t i = 0; i < count; i++) printf(", \"%s\"", calls[i].name);
}

static void print_rule(const char *name, unsigned long value, const char *masked, const char *comparison) {
    printf(",\n{\"names\": [\"%s\"], \"action\": \"SCMP_ACT_ALLOW\", ", name);
    printf("\"args\": [{\"index\": 0, \"value\": %lu, %s\"op\": \"SCMP_CMP_%s\"}]}", value, masked, comparison);
}

/* Print the allow-list of a container with the harness in it, in the format of OCI runtimes and container engines: what
 * programs may call, and what the harness calls itself before it installs its own filter, which refuses the processor's
 * other architectures: a container's filter would kill for them. Returns 0. */
int print_filter(bool loopback) {
    printf("{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"architectures\": [" CONTAINER_ARCHS "], \"syscalls\": [\n");
    printf("{\"action\": \"SCMP_ACT_ALLOW\", \"names\": [\"seccomp\", \"setpriority\"");
    print_names(allowed, COUNT(allowed));
    print_names(messages, COUNT(messages));
    print_names(targeted, COUNT(targeted));
    printf("]}");
    print_rule("unshare", CLONE_NEWUSER, "", "EQ");
    print_rule("clone", ANY_NAMESPACE, "\"valueTwo\": 0, ", "MASKED_EQ");
    print_rule("socket", AF_UNIX, "", "EQ");
    if (loopback) print_rule("socket", AF_INET, "", "EQ");
    print_rule("socketpair", AF_UNIX, "", "EQ");
    printf(",\n{\"names\": [\"clone3\"], \"action\": \"SCMP_ACT_ALLOW\"}]}\n");
    return 0;
}
