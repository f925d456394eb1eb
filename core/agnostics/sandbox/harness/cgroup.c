/* The processor time of all that ran in the slot, as its cgroup (version 1 or 2) counts it. */
#include "harness.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int cpu_fd = -1;
static bool cpu_in_ns;

/* Open the counter of processor time of the cgroup `folder`, unless it is of another controller. */
void watch_cpu_cgroup(int folder) {
    if (cpu_fd >= 0) return;
    cpu_fd = openat(folder, "cpuacct.usage", O_RDONLY | O_CLOEXEC);
    cpu_in_ns = cpu_fd >= 0;
    if (!cpu_in_ns) cpu_fd = openat(folder, "cpu.stat", O_RDONLY | O_CLOEXEC);
}

/* The processor time of everything in the slot but the harness and the fork server, also of processes that nobody waited for; 0 if unknown.
 */
uint64_t slot_cpu_us(void) {
    char text[1024];
    struct timespec own;
    ssize_t size = cpu_fd < 0 ? 0 : pread(cpu_fd, text, sizeof text - 1, 0);
    if (size <= 0 || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own)) return 0;
    text[size] = 0;
    const char *number = cpu_in_ns ? text : strstr(text, "usage_usec ");
    if (!number) return 0;
    uint64_t all_us = cpu_in_ns ? strtoull(number, NULL, 10) / 1000 : strtoull(number + strlen("usage_usec "), NULL, 10);
    uint64_t own_us = (uint64_t)own.tv_sec * 1000000 + (uint64_t)own.tv_nsec / 1000 + fork_server_cpu_us();
    return all_us > own_us ? all_us - own_us : 0;
}
