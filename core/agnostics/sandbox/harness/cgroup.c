/* Evidence from the slot's memory cgroup (version 1 or 2): the out-of-memory killer's work, and files in memory. */
#include "harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int counter = -1, statistics = -1;
static unsigned long seen;

static unsigned long kills(void) {
    char text[1024];
    ssize_t size = pread(counter, text, sizeof text - 1, 0);
    if (size <= 0) return seen;
    text[size] = 0;
    const char *line = strstr(text, "oom_kill ");
    return line ? strtoul(line + strlen("oom_kill "), NULL, 10) : seen;
}

/* Read the counters of the cgroup mounted at `cgroup`. */
void watch_memory_cgroup(const char *cgroup) {
    static const char *const names[] = {"memory.events", "memory.oom_control"};
    char path[4096];
    for (size_t i = 0; counter < 0 && i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", cgroup, names[i]);
        counter = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (counter >= 0) seen = kills();
    snprintf(path, sizeof path, "%s/memory.stat", cgroup);
    statistics = open(path, O_RDONLY | O_CLOEXEC);
}

/* What files in memory (RAM disks, memfds, shared mappings) take in the slot; 0 where it cannot be known. */
uint64_t shared_memory_kb(void) {
    char text[8192];
    ssize_t size = statistics < 0 ? 0 : pread(statistics, text, sizeof text - 1, 0);
    text[size > 0 ? size : 0] = 0;
    const char *line = strstr(text, "\nshmem ");
    return line ? strtoull(line + strlen("\nshmem "), NULL, 10) >> 10 : 0;
}

bool counts_oom_kills(void) { return counter >= 0; }

bool oom_killed_since_last_call(void) {
    if (counter < 0) return false;
    unsigned long before = seen;
    seen = kills();
    return seen > before;
}
