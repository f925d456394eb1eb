/* The slot's memory cgroup (version 1 or 2): kills by the out-of-memory killer, and the size of files in memory. */
#include "harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int events_fd = -1, stat_fd = -1;
static unsigned long seen;

static unsigned long kills(void) {
    char text[1024];
    ssize_t size = pread(events_fd, text, sizeof text - 1, 0);
    if (size <= 0) return seen;
    text[size] = 0;
    const char *line = strstr(text, "oom_kill ");
    return line ? strtoul(line + strlen("oom_kill "), NULL, 10) : seen;
}

/* Open the counters of the cgroup mounted at `cgroup`. */
void watch_memory_cgroup(const char *cgroup) {
    static const char *const names[] = {"memory.events", "memory.oom_control"};
    char path[4096];
    for (size_t i = 0; events_fd < 0 && i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", cgroup, names[i]);
        events_fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (events_fd >= 0) seen = kills();
    snprintf(path, sizeof path, "%s/memory.stat", cgroup);
    stat_fd = open(path, O_RDONLY | O_CLOEXEC);
}

/* The size of files in memory (RAM disks, memfds, shared mappings) in the slot; 0 if unknown. */
uint64_t shared_memory_kb(void) {
    char text[8192];
    ssize_t size = stat_fd < 0 ? 0 : pread(stat_fd, text, sizeof text - 1, 0);
    text[size > 0 ? size : 0] = 0;
    const char *line = strstr(text, "\nshmem ");
    return line ? strtoull(line + strlen("\nshmem "), NULL, 10) >> 10 : 0;
}

bool counts_oom_kills(void) { return events_fd >= 0; }

bool oom_killed_since_last_call(void) {
    if (events_fd < 0) return false;
    unsigned long before = seen;
    seen = kills();
    return seen > before;
}
