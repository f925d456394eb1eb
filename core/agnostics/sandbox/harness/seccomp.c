/* The system call filter: calls that no runtime needs, or that namespaces and limits do not confine, fail as if the
 * kernel did not have them, without a kill. It is installed once, and every program inherits it; a second one refuses
 * programs what only the harness needs. */
#include "harness.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#else
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#endif

enum {
    X32_BIT = 0x40000000,
    ANY_NAMESPACE =
        CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET
};

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)
#define REFUSE(error) RETURN(SECCOMP_RET_ERRNO | (error))
#define IF_EQUAL(value, skip_else) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip_else)

/* What runtimes and compilers need of the kernel. Not among them, though container engines allow it: aio and io_uring,
 * System V and POSIX queues and shared memory, which outlive their makers; sendmsg, since descriptors that travel in a
 * cycle of sockets outlive every process, with the memory behind them; other processes' memory; landlock and seccomp. */
static const int allowed[] = {
    /* files */
    SYS_read, SYS_write, SYS_pread64, SYS_pwrite64, SYS_readv, SYS_writev, SYS_preadv, SYS_pwritev, SYS_preadv2,
    SYS_pwritev2, SYS_openat, 437 /* openat2 */, SYS_close, 436 /* close_range */, SYS_lseek, SYS_dup, SYS_dup3, SYS_fcntl,
    SYS_ioctl, SYS_flock, SYS_ftruncate, SYS_truncate, SYS_fallocate, SYS_fadvise64, SYS_readahead, SYS_fsync,
    SYS_fdatasync, SYS_sync_file_range, SYS_sendfile, SYS_copy_file_range, SYS_splice, SYS_tee, SYS_vmsplice, SYS_pipe2,
    SYS_fstat, SYS_newfstatat, SYS_statx, SYS_statfs, SYS_fstatfs, SYS_faccessat, 439 /* faccessat2 */, SYS_getcwd,
    SYS_chdir, SYS_fchdir, SYS_getdents64, SYS_mkdirat, SYS_mknodat, SYS_linkat, SYS_symlinkat, SYS_readlinkat,
    SYS_unlinkat, SYS_renameat, SYS_renameat2, SYS_fchmod, SYS_fchmodat, 452 /* fchmodat2 */, SYS_fchown, SYS_fchownat,
    SYS_umask, SYS_utimensat, SYS_getxattr, SYS_lgetxattr, SYS_fgetxattr, SYS_listxattr, SYS_llistxattr,
    SYS_flistxattr,
    /* events */
    SYS_ppoll, SYS_pselect6, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, 441 /* epoll_pwait2 */, SYS_eventfd2,
    SYS_signalfd4, SYS_timerfd_create, SYS_timerfd_settime, SYS_timerfd_gettime, SYS_inotify_init1,
    SYS_inotify_add_watch, SYS_inotify_rm_watch,
    /* sockets of the program itself; socket and socketpair are below */
    SYS_bind, SYS_listen, SYS_accept, SYS_accept4, SYS_connect, SYS_getsockname, SYS_getpeername, SYS_setsockopt,
    SYS_getsockopt, SYS_sendto, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_shutdown,
    /* memory */
    SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_msync, SYS_mincore, SYS_mlock, SYS_mlock2,
    SYS_mlockall, SYS_munlock, SYS_munlockall, SYS_memfd_create, SYS_membarrier, SYS_pkey_alloc, SYS_pkey_free,
    SYS_pkey_mprotect, 453 /* map_shadow_stack */, 462 /* mseal */,
    /* processes and threads; clone is below */
    SYS_execve, SYS_execveat, SYS_exit, SYS_exit_group, SYS_wait4, SYS_waitid, SYS_kill, SYS_tkill, SYS_tgkill,
    434 /* pidfd_open */, 424 /* pidfd_send_signal */, SYS_getpid, SYS_getppid, SYS_gettid, SYS_getpgid, SYS_setpgid,
    SYS_getsid, SYS_setsid, SYS_set_tid_address, SYS_set_robust_list, SYS_get_robust_list, SYS_futex,
    449 /* futex_waitv */, 454 /* futex_wake */, 455 /* futex_wait */, 456 /* futex_requeue */, SYS_rseq, SYS_prctl,
    SYS_restart_syscall, SYS_getrusage, SYS_times, SYS_getrlimit, SYS_setrlimit, SYS_getpriority, SYS_ioprio_get,
    SYS_getcpu, SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_getparam, SYS_sched_getscheduler, SYS_sched_getattr,
    SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_sched_rr_get_interval,
    /* users, as far as no new privileges allow */
    SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getresuid, SYS_getresgid, SYS_getgroups, SYS_setuid,
    SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid, SYS_setgroups, SYS_setfsuid, SYS_setfsgid,
    SYS_capget, SYS_capset,
    /* signals */
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigpending, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
    SYS_rt_sigreturn, SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_sigaltstack,
    /* time */
    SYS_gettimeofday, SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_getitimer,
    SYS_setitimer, SYS_timer_create, SYS_timer_settime, SYS_timer_gettime, SYS_timer_getoverrun, SYS_timer_delete,
    /* the machine */
    SYS_uname, SYS_sysinfo, SYS_getrandom,
#ifdef __x86_64__
    SYS_open, SYS_creat, SYS_stat, SYS_lstat, SYS_access, SYS_pipe, SYS_dup2, SYS_select, SYS_poll, SYS_epoll_create,
    SYS_epoll_wait, SYS_eventfd, SYS_signalfd, SYS_inotify_init, SYS_getdents, SYS_mkdir, SYS_rmdir, SYS_mknod, SYS_link,
    SYS_symlink, SYS_readlink, SYS_unlink, SYS_rename, SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes,
    SYS_futimesat, SYS_fork, SYS_vfork, SYS_getpgrp, SYS_alarm, SYS_pause, SYS_time, SYS_arch_prctl,
    SYS_set_thread_area, SYS_get_thread_area,
#endif
};

/* Descriptors that travel in messages: in a cycle they outlive every process, with the memory behind them. The harness
 * itself needs them for the fork server. */
static const int messages[] = {SYS_sendmsg, SYS_sendmmsg};

/* The harness's, to protect files of its own user (mounts.c). */
static const int mounts[] = {SYS_mount, SYS_umount2};

/* Calls that do nothing here but keep the machine's disks busy. */
static const int ignored[] = {SYS_sync, SYS_syncfs};

/* Attributes of files: those of a folder that stays would reach the next program. The calls fail as on a file system
 * without them. */
static const int attributes[] = {SYS_setxattr,    SYS_lsetxattr,    SYS_fsetxattr,
                                 SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr};

/* Calls that a process of the same user could direct at the harness; their first argument is a process id. */
static const int targeted[] = {SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setparam, SYS_sched_setscheduler,
                               SYS_sched_setattr};

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
    for (size_t i = 0; i < COUNT(allowed); i++) allow(allowed[i]);
    for (size_t i = 0; settings.hold_library && i < COUNT(messages); i++) allow(messages[i]);
    for (size_t i = 0; has_own_mounts() && i < COUNT(mounts); i++) allow(mounts[i]);
    for (size_t i = 0; i < COUNT(ignored); i++) refuse(ignored[i], 0);
    for (size_t i = 0; i < COUNT(attributes); i++) refuse(attributes[i], EOPNOTSUPP);
    refuse_new_namespaces();
    refuse_unless_argument(SYS_socket, AF_UNIX, EAFNOSUPPORT);
    refuse_unless_argument(SYS_socketpair, AF_UNIX, EAFNOSUPPORT);
    for (size_t i = 0; i < COUNT(targeted); i++) refuse_if_targeting_harness(targeted[i]);
    refuse_priority_of_others();
    add((struct sock_filter)REFUSE(ENOSYS)); /* clone3 too, whose flags are behind a pointer: libc falls back to clone */
}

/* Refuse in this process, a program to be, what the harness's filter allows for the harness itself. */
bool refuse_harness_calls(void) {
    struct sock_filter small[] = {LOAD(nr),
                                  IF_EQUAL(SYS_sendmsg, 1), REFUSE(ENOSYS), IF_EQUAL(SYS_sendmmsg, 1), REFUSE(ENOSYS),
                                  IF_EQUAL(SYS_mount, 1), REFUSE(ENOSYS), IF_EQUAL(SYS_umount2, 1), REFUSE(ENOSYS),
                                  RETURN(SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {COUNT(small), small};
    bool needed = settings.hold_library || has_own_mounts();
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
