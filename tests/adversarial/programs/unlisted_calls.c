/* Calls that no runtime needs, some of them newer than the sandbox: prints those that the kernel answered. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
int main() {
    static const int calls[] = {SYS_bpf, SYS_userfaultfd, SYS_perf_event_open, SYS_keyctl, SYS_ptrace, SYS_mount,
                                SYS_seccomp, SYS_set_mempolicy, SYS_mbind, SYS_shmget, SYS_semget, SYS_mq_open,
                                SYS_sendmsg, SYS_io_setup, 425 /* io_uring_setup */, 444 /* landlock_create_ruleset */,
                                447 /* memfd_secret */, 451 /* cachestat */, 457 /* statmount */, 459 /* lsm_get_self_attr */};
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
        errno = 0;
        if (syscall(calls[i], 0L, 0L, 1L, 0L, 0L, 0L) >= 0 || errno != ENOSYS) printf("%d ", calls[i]);
    }
    puts("end");
}
