/* The system call filter: calls that namespaces and limits do not confine fail with an error, without a kill. It is
 * installed once, and every program inherits it. */
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

static const int denied[] = {
    /* other processes */
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_getfd, SYS_kcmp, SYS_process_madvise,
    SYS_migrate_pages, SYS_move_pages, SYS_ioprio_set,
    /* kernel interfaces with a history of vulnerabilities */
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
    SYS_add_key, SYS_request_key, SYS_keyctl, SYS_lookup_dcookie, SYS_fanotify_init, SYS_personality, SYS_vhangup,
    /* mounts and namespaces */
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns, SYS_open_tree, SYS_move_mount,
    SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr, SYS_open_by_handle_at, SYS_name_to_handle_at,
    /* shared memory and queues that outlive their makers */
    SYS_shmget, SYS_shmat, SYS_shmctl, SYS_semget, SYS_semop, SYS_semctl, SYS_msgget, SYS_msgsnd, SYS_msgrcv,
    SYS_msgctl, SYS_mq_open, SYS_mq_unlink,
    /* the machine */
    SYS_kexec_load, SYS_kexec_file_load, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_reboot, SYS_swapon,
    SYS_swapoff, SYS_acct, SYS_quotactl, 443 /* quotactl_fd */, SYS_syslog, SYS_settimeofday, SYS_clock_settime,
    SYS_adjtimex, SYS_clock_adjtime, SYS_sethostname, SYS_setdomainname, SYS_nfsservctl,
#ifdef __x86_64__
    SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_uselib, SYS_ustat, SYS_sysfs, SYS__sysctl, SYS_create_module,
    SYS_get_kernel_syms, SYS_query_module,
#endif
};

/* Calls that a process of the same user could direct at the harness; their first argument is a process id. */
static const int targeted[] = {SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setparam, SYS_sched_setscheduler,
                               SYS_sched_setattr};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct sock_filter program[4 * COUNT(denied) + 64];
static unsigned short length;

static void add(struct sock_filter instruction) { program[length++] = instruction; }

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

static void compose(void) {
    add((struct sock_filter)LOAD(arch));
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0));
    add((struct sock_filter)REFUSE(ENOSYS));
    add((struct sock_filter)LOAD(nr));
#ifdef __x86_64__
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, X32_BIT, 0, 1));
    add((struct sock_filter)REFUSE(ENOSYS));
#endif
    for (size_t i = 0; i < COUNT(denied); i++) refuse(denied[i], EPERM);
    refuse(SYS_clone3, ENOSYS); /* its flags are behind a pointer; libc falls back to clone */
    refuse_new_namespaces();
    refuse_unless_argument(SYS_socket, AF_UNIX, EAFNOSUPPORT);
    for (size_t i = 0; i < COUNT(targeted); i++) refuse_if_targeting_harness(targeted[i]);
    refuse_priority_of_others();
    add((struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
}

void install_filter(void) {
    compose();
    struct sock_fprog filter = {length, program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0)) {
        perror("harness: cannot install the system call filter");
        exit(3);
    }
}
