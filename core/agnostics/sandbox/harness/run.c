/* One run of a compiler or a program: started, watched, ended, measured. */
#include "harness.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_POLL_US = 5000, POLL_US = 20000, HARD_FACTOR = 10, HARD_EXTRA_US = 1000000 };
enum { SPARE_KB = 1024, PROCESS_KB = 32 };

struct watch {
    pid_t pid;
    int pidfd;
    uint64_t spawned_us, started_us; /* before and after the start */
    uint64_t own_us, cpu_us, reaped_us;
    uint64_t slot_cpu_us; /* of the slot, before the start */
    uint64_t held_kb, disks_kb; /* of the slot, before the start */
    uint64_t peak_kb; /* that all processes together were seen to have */
    const char *path;
    const struct limits *limits;
    const struct streams *streams;
    enum verdict exceeded; /* the limit that was exceeded, or ACCEPTED */
    bool interrupted;
};

uint64_t clock_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static uint64_t micros(struct timeval time) { return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec; }

static uint64_t cpu_of(const struct rusage *usage) { return micros(usage->ru_utime) + micros(usage->ru_stime); }

static uint64_t largest(uint64_t a, uint64_t b) { return a > b ? a : b; }

static uint64_t smallest(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Reap dead orphans, which would fill the process limit; their time still counts. */
static void reap_orphans(struct watch *watch) {
    for (;;) {
        siginfo_t dead = {0};
        if (waitid(P_ALL, 0, &dead, WEXITED | WNOHANG | WNOWAIT) || !dead.si_pid || dead.si_pid == watch->pid) return;
        struct rusage usage = {0};
        syscall(SYS_wait4, dead.si_pid, NULL, 0, &usage);
        if (!fork_server_ended(dead.si_pid)) watch->reaped_us += cpu_of(&usage);
    }
}

static bool too_much_output(const struct watch *watch) {
    const struct streams *streams = watch->streams;
    return file_size(streams->out) > watch->limits->out_bytes || file_size(streams->err) > watch->limits->out_bytes;
}

/* The processor time of the program and of all that it started, as far as the slot's cgroup knows it. */
static uint64_t cgroup_cpu_us(const struct watch *watch) {
    uint64_t now_us = slot_cpu_us();
    return now_us > watch->slot_cpu_us ? now_us - watch->slot_cpu_us : 0;
}

/* Update the program's own time: the time while it runs or sleeps, but not while it waits for a processor, so that a
 * busy machine fails no correct program. While all its threads sleep, the kernel's count of their waiting time is
 * complete; while one waits it is not, and only the processor time used since is certain. */
static void measure(struct watch *watch, struct usage *usage) {
    measure_processes(watch->pid, !counts_memory(), usage);
    uint64_t awake_us = clock_us() - watch->started_us;
    uint64_t cpu_us = largest(watch->cpu_us, largest(usage->cpu_us + watch->reaped_us, cgroup_cpu_us(watch)));
    uint64_t settled_us = awake_us > usage->delay_us ? awake_us - usage->delay_us : 0;
    uint64_t own_us = usage->runnable ? watch->own_us + cpu_us - watch->cpu_us : largest(watch->own_us, settled_us);
    watch->own_us = largest(own_us, cpu_us);
    watch->cpu_us = cpu_us;
}

/* The memory of the program by the slot's cgroup, without its outputs. */
static uint64_t counted_memory_kb(const struct watch *watch) {
    uint64_t before_kb = watch->held_kb + file_kb(watch->streams->out), now_kb = held_memory_kb();
    if (watch->streams->err != watch->streams->out) before_kb += file_kb(watch->streams->err);
    return now_kb > before_kb ? now_kb - before_kb : 0;
}

/* The same by its processes: a file in memory counts in each that has mapped it, and while none has only on a disk. */
static uint64_t mapped_memory_kb(const struct watch *watch, const struct usage *usage) {
    uint64_t now_kb = disks_kb(), files_kb = now_kb > watch->disks_kb ? now_kb - watch->disks_kb : 0;
    return usage->private_kb + largest(usage->shared_kb, files_kb);
}

/* The memory that the kernel grants a program, with its outputs, and with what the kernel needs for each process. */
static uint64_t allowed_kb(const struct limits *limits) {
    return (limits->memory_mb << 10) + (2 * limits->out_bytes >> 10) + (uint64_t)PROCESS_KB * limits->processes;
}

static bool memory_over_limit(struct watch *watch, const struct usage *usage) {
    uint64_t now_kb = counts_memory() ? counted_memory_kb(watch) : mapped_memory_kb(watch, usage);
    uint64_t limit_kb = watch->limits->memory_mb << 10;
    watch->peak_kb = largest(watch->peak_kb, now_kb);
    return now_kb >= limit_kb + SPARE_KB + (counts_memory() ? uncounted_kb() : 0);
}

static enum verdict exceeded_limit(struct watch *watch) {
    const struct limits *limits = watch->limits;
    uint64_t hard_us = HARD_FACTOR * limits->time_us + HARD_EXTRA_US;
    struct usage usage;
    if (oom_killed_since_last_call()) return MEMORY_LIMIT;
    if (too_much_output(watch)) return OUTPUT_LIMIT;
    measure(watch, &usage);
    if (memory_over_limit(watch, &usage)) return MEMORY_LIMIT;
    return watch->own_us >= limits->time_us || clock_us() - watch->started_us >= hard_us ? TIME_LIMIT : ACCEPTED;
}

static bool has_ended(pid_t pid) {
    siginfo_t dead = {0};
    return !waitid(P_PID, (id_t)pid, &dead, WEXITED | WNOHANG | WNOWAIT) && dead.si_pid == pid;
}

/* Wait at most `timeout_us` for the program to end, or for a request of it. If the client disconnects, everything ends. */
static bool wait_for_end(const struct watch *watch, uint64_t timeout_us) {
    struct pollfd ends[] = {{watch->pidfd, POLLIN, 0}, {settings.connection, POLLRDHUP, 0}, {memory_requests(), POLLIN, 0}};
    struct timespec timeout = {(time_t)(timeout_us / 1000000), (long)(timeout_us % 1000000) * 1000};
    if (ppoll(ends, 3, &timeout, NULL) < 0 && errno != EINTR) return true;
    if (ends[1].revents & (POLLRDHUP | POLLHUP | POLLERR)) {
        kill_everything();
        _exit(0);
    }
    if (ends[2].revents & POLLIN) answer_memory_request();
    return watch->pidfd < 0 ? has_ended(watch->pid) : ends[0].revents & POLLIN;
}

static void watch_until_end(struct watch *watch) {
    uint64_t pause_us = FIRST_POLL_US;
    for (;;) {
        uint64_t left_us = watch->limits->time_us > watch->own_us ? watch->limits->time_us - watch->own_us : 0;
        if (wait_for_end(watch, largest(1000, smallest(pause_us, left_us)))) return;
        pause_us = POLL_US;
        reap_orphans(watch);
        watch->exceeded = exceeded_limit(watch);
        watch->interrupted = watch->limits->interruptible && take_interrupt(settings.connection);
        if (watch->exceeded != ACCEPTED || watch->interrupted) return;
    }
}

/* A program that ended within its limit of wall time was in time; otherwise its processor time since the last poll is
 * added to its own time. */
static bool ended_late(const struct watch *watch, const struct run_result *run) {
    if (run->cpu_us >= watch->limits->time_us) return true;
    uint64_t since_us = run->cpu_us > watch->cpu_us ? run->cpu_us - watch->cpu_us : 0;
    return run->wall_us >= watch->limits->time_us && watch->own_us + since_us >= watch->limits->time_us;
}

/* The files that the program left on the RAM disks, which the slot's memory holds, are over its limit. */
static bool disks_over_limit(const struct watch *watch) {
    uint64_t now_kb = disks_kb();
    return now_kb > watch->disks_kb && (now_kb - watch->disks_kb) >> 10 >= watch->limits->memory_mb;
}

/* A program whose variables alone are over its limit is killed before its first instruction, and has had no memory. */
static bool was_too_large_to_start(const struct watch *watch, const struct run_result *run) {
    return run->signal == SIGSEGV && writable_mb(watch->path) >= watch->limits->data_mb;
}

/* The kernel killed for lack of memory; or the peak was over the limit; or, if only the address space is limited, the
 * program failed with a peak close to it. */
static bool memory_exceeded(const struct watch *watch, const struct run_result *run) {
    uint64_t limit_kb = watch->limits->memory_mb * 1024, peak_kb = run->peak_kb;
    if (oom_killed_since_last_call() || peak_kb > limit_kb + settings.frame_kb) return true;
    if (!watch->limits->data_mb || run->exit_code == 0) return false;
    return peak_kb >= limit_kb / 10 * 9 || was_too_large_to_start(watch, run);
}

/* A program gets SIGXCPU only from itself: an interpreter reports with it that the allowed steps are used up. */
static enum verdict verdict_of(const struct watch *watch, const struct run_result *run) {
    if (watch->exceeded == MEMORY_LIMIT || memory_exceeded(watch, run) || disks_over_limit(watch)) return MEMORY_LIMIT;
    if (watch->exceeded == OUTPUT_LIMIT || too_much_output(watch)) return OUTPUT_LIMIT;
    if (watch->exceeded == TIME_LIMIT || ended_late(watch, run) || run->signal == SIGXCPU) return TIME_LIMIT;
    return run->exit_code != 0 ? RUNTIME_ERROR : ACCEPTED;
}

static void record(struct run_result *run, int status, uint64_t cpu_us, uint64_t peak_kb, uint64_t wall_us) {
    run->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    run->signal = WIFSIGNALED(status) ? WTERMSIG(status) : -1;
    run->cpu_us = cpu_us;
    run->peak_kb = peak_kb;
    run->wall_us = wall_us;
}

/* A program may end sooner than it is looked at, and leave its memory to its children. */
static void look_at_survivors(struct watch *watch) {
    siginfo_t child = {0};
    struct usage usage;
    if (watch->exceeded != ACCEPTED || waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT)) return;
    measure_processes(watch->pid, !counts_memory(), &usage);
    if (memory_over_limit(watch, &usage)) watch->exceeded = MEMORY_LIMIT;
}

/* Kill the program and the processes that it started, and record its result. */
static void finish(struct watch *watch, struct run_result *run) {
    uint64_t wall_us = clock_us() - watch->spawned_us;
    if (watch->exceeded == ACCEPTED && oom_killed_since_last_call()) watch->exceeded = MEMORY_LIMIT;
    if (watch->exceeded == MEMORY_LIMIT && !has_program_group()) kill_small_processes();
    if (watch->exceeded != ACCEPTED || watch->interrupted) kill(watch->pid, SIGKILL);
    int status = 0;
    struct rusage usage = {0};
    while (syscall(SYS_wait4, watch->pid, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    if (watch->pidfd >= 0) close(watch->pidfd);
    uint64_t cpu_us = largest(largest(cpu_of(&usage), cgroup_cpu_us(watch)), watch->cpu_us);
    look_at_survivors(watch);
    kill_everything();
    restore_folders();
    record(run, status, cpu_us, (uint64_t)usage.ru_maxrss, wall_us);
    run->verdict = verdict_of(watch, run);
    run->interrupted = watch->interrupted;
    run->peak_kb = largest(run->peak_kb, watch->peak_kb);
    if (run->verdict == MEMORY_LIMIT) release_reserve();
}

static const char *start_error(const char *path, int error) {
    static char message[512];
    snprintf(message, sizeof message, "cannot start %.200s: %s", path, strerror(error));
    return message;
}

/* Run a command to its end. Returns NULL, or the reason why it could not be started. */
const char *run_command(const char *path, char **argv, char **environment, const struct limits *limits,
                        const struct streams *streams, struct run_result *run) {
    struct command command = {path,         argv,        environment,        streams->in,      streams->out,
                              streams->err, limits->file_bytes, limits->data_mb, limits->processes,
                              limits->forked};
    struct watch watch = {
        .path = path, .limits = limits, .streams = streams, .exceeded = ACCEPTED, .spawned_us = clock_us()};
    int error;
    oom_killed_since_last_call();
    expect_memory_requests(!limits->data_mb);
    watch.held_kb = limit_memory(allowed_kb(limits));
    watch.slot_cpu_us = slot_cpu_us();
    watch.disks_kb = disks_kb();
    watch.pid = spawn(&command, &watch.pidfd, &error);
    if (watch.pid < 0) return start_error(path, error);
    watch.started_us = clock_us();
    watch_until_end(&watch);
    finish(&watch, run);
    return NULL;
}
