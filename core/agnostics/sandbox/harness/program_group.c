/* The control groups of programs, in those of the slot, and the start of processes in them. A process is born there: for a
 * move the kernel would wait for all processors. The harness's memory stays outside, so that no use of memory in them can
 * end it.
 *
 * In version 1 a group holds threads: one of the harness's stands in the groups of programs and does all its work. The
 * memory of a process is in the group of its first thread, which waits. In version 2 the kernel is told the group of each
 * new process (clone3).
 */
#include "harness.h"

#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_GROUPS = 4, STACK_BYTES = 1 << 20 };

static int tasks_files[MAX_GROUPS]; /* of version 1 */
static unsigned group_count;
static int folder = -1; /* of version 2 */

void use_tasks_file(int fd) {
    if (group_count == MAX_GROUPS) die("harness: too many control groups");
    tasks_files[group_count++] = fd;
}

void use_group_folder(int fd) { folder = fd; }

bool has_program_group(void) { return group_count || folder >= 0; }

bool names_group_at_start(void) { return folder >= 0; }

/* --- version 1 --- */

static void *enter_and_serve(void *serve) {
    for (unsigned i = 0; i < group_count; i++) {
        if (write(tasks_files[i], "0", 1) != 1) die("harness: cannot enter a control group");
        close(tasks_files[i]);
    }
    (*(void (**)(void))serve)();
    return NULL;
}

static void serve_on_thread(void (*serve)(void)) {
    pthread_t thread;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) || pthread_attr_setstacksize(&attributes, STACK_BYTES) ||
        pthread_create(&thread, &attributes, enter_and_serve, &serve) || pthread_join(thread, NULL))
        die("harness: cannot start a thread");
}

/* --- version 2 --- */

/* Inline: the new process runs on this stack, below this frame, until it executes or ends; a function that had called the
 * kernel would return twice to a frame that is overwritten. */
static inline long clone3(struct clone_args *args) {
#ifdef __x86_64__
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "0"(435L), "D"(args), "S"(sizeof *args) : "rcx", "r11", "memory");
    return result;
#else
    register long number __asm__("x8") = 435;
    register long result __asm__("x0") = (long)args;
    register long size __asm__("x1") = sizeof *args;
    __asm__ volatile("svc #0" : "+r"(result) : "r"(number), "r"(size) : "memory");
    return result;
#endif
}

static __attribute__((noinline)) pid_t start_in_folder(int (*run)(void *), void *argument, int *pidfd) {
    struct clone_args args = {.flags = CLONE_VM | CLONE_VFORK | CLONE_INTO_CGROUP, .exit_signal = SIGCHLD};
    args.cgroup = (uint64_t)folder;
    if (pidfd) args.flags |= CLONE_PIDFD, args.pidfd = (uint64_t)(uintptr_t)pidfd;
    long pid = clone3(&args);
    if (!pid) _exit(run(argument));
    if (pid < 0) errno = (int)-pid;
    return pid < 0 ? -1 : (pid_t)pid;
}

static int end_at_once(void *unused) {
    (void)unused;
    _exit(0);
}

static void try_folder(void) {
    pid_t pid = start_process(end_at_once, NULL, NULL);
    if (pid < 0) die("harness: cannot start a process in a control group");
    while (syscall(SYS_wait4, pid, NULL, 0, NULL) < 0 && errno == EINTR) {
    }
}

/* --- both --- */

/* Call `serve` where processes can be started in the groups of programs, if the slot has them. It comes after all
 * restrictions that programs inherit. */
void serve_in_program_group(void (*serve)(void)) {
    if (folder >= 0) try_folder();
    if (group_count) serve_on_thread(serve);
    else serve();
}

/* Start a process of programs, which shares the harness's memory until it executes: it calls `run`, and this returns then.
 * Returns its pid, and where `pidfd` is given a descriptor of it; -1 with errno if that failed. */
pid_t start_process(int (*run)(void *), void *argument, int *pidfd) {
    static char stack[64 << 10] __attribute__((aligned(16)));
    if (folder >= 0) return start_in_folder(run, argument, pidfd);
    int flags = CLONE_VM | CLONE_VFORK | SIGCHLD | (pidfd ? CLONE_PIDFD : 0);
    return clone(run, stack + sizeof stack, flags, argument, pidfd);
}
