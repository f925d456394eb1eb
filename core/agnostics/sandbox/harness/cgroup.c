/* The processor time of all that ran in the slot, as its cgroup (version 1 or 2) counts it, or a clock of the kernel that
 * the harness's children inherit. */
#include "harness.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int cpu_fd = -1;
static bool cpu_in_ns;
static int clock_fd = -1;
static uint64_t own_us_before_clock;

/* Open the counter of processor time of the cgroup `folder`, unless it is of another controller. */
void watch_cpu_cgroup(int folder) {
    if (cpu_fd >= 0) return;
    cpu_fd = openat(folder, "cpuacct.usage", O_RDONLY | O_CLOEXEC);
    cpu_in_ns = cpu_fd >= 0;
    if (!cpu_in_ns) cpu_fd = openat(folder, "cpu.stat", O_RDONLY | O_CLOEXEC);
}

/* The harness's own: that of the thread that works, which stands in the cgroup. */
static uint64_t own_cpu_us(void) {
    struct timespec own = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
    return (uint64_t)own.tv_sec * 1000000 + (uint64_t)own.tv_nsec / 1000;
}

/* Without a cgroup, have the kernel count the time of the harness and of all its descendants, if it lets this user
 * (kernel.perf_event_paranoid). */
void watch_descendants_cpu(void) {
    struct perf_event_attr clock = {.type = PERF_TYPE_SOFTWARE, .size = sizeof clock, .config = PERF_COUNT_SW_TASK_CLOCK};
    clock.inherit = 1, clock.exclude_kernel = 1, clock.exclude_hv = 1;
    if (cpu_fd >= 0 || !settings.namespaced) return;
    own_us_before_clock = own_cpu_us();
    clock_fd = (int)syscall(SYS_perf_event_open, &clock, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static uint64_t cgroup_us(void) {
    char text[1024];
    ssize_t size = pread(cpu_fd, text, sizeof text - 1, 0);
    text[size > 0 ? size : 0] = 0;
    const char *number = cpu_in_ns ? text : strstr(text, "usage_usec ");
    if (!number) return 0;
    return cpu_in_ns ? strtoull(number, NULL, 10) / 1000 : strtoull(number + strlen("usage_usec "), NULL, 10);
}

static uint64_t clock_of_descendants_us(void) {
    uint64_t all_ns;
    bool counted = clock_fd >= 0 && read(clock_fd, &all_ns, sizeof all_ns) == (ssize_t)sizeof all_ns;
    return counted ? own_us_before_clock + all_ns / 1000 : 0;
}

/* The processor time of everything in the slot but the harness and the fork server, also of processes that nobody waited
 * for; 0 if unknown. */
uint64_t slot_cpu_us(void) {
    uint64_t all_us = cpu_fd >= 0 ? cgroup_us() : clock_of_descendants_us();
    uint64_t own_us = (names_group_at_start() ? 0 : own_cpu_us()) + fork_server_cpu_us();
    return all_us > own_us ? all_us - own_us : 0;
}
