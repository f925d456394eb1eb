/* Priority, processors, scheduling class and signals of the harness; a higher class of its own. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#define TRY(what) if ((what) >= 0) printf("allowed: %s\n", #what)
int main() {
    struct sched_param first = {1}, none = {0};
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(0, &mask);
    int ends[2];
    TRY(setpriority(PRIO_PROCESS, 1, 19));
    TRY(setpriority(PRIO_PROCESS, 0, -5));
    TRY(setpriority(PRIO_USER, 0, 19));
    TRY(sched_setaffinity(1, sizeof mask, &mask));
    TRY(sched_setscheduler(1, SCHED_IDLE, &none));
    TRY(sched_setscheduler(0, SCHED_FIFO, &first));
    TRY(sched_setscheduler(0, SCHED_RR, &first));
    TRY(syscall(SYS_ioprio_set, 1, 1, 3 << 13));
    TRY(syscall(SYS_ioprio_set, 1, 0, 1 << 13));
    syscall(SYS_pidfd_send_signal, syscall(SYS_pidfd_open, 1, 0), SIGKILL, 0, 0);
    pipe(ends);
    fcntl(ends[0], F_SETSIG, SIGKILL), fcntl(ends[0], F_SETFL, O_ASYNC), fcntl(ends[0], F_SETOWN, 1);
    write(ends[1], "x", 1);
    sigqueue(1, SIGKILL, (union sigval){0});
    prctl(PR_SET_CHILD_SUBREAPER, 1), prctl(PR_SET_PTRACER, -1), prctl(PR_SET_DUMPABLE, 1);
    puts("42");
}
