/* The memory of programs, as their control group (version 1 or 2) counts it, or else that of the slot: the limit on it while
 * one runs, what they hold, and kills by the out-of-memory killer. */
#include "harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a program may need beside its own memory: page tables, stacks and other memory of the kernel, and the pages of
 * its executables, without which it would come to a halt before it reaches its limit. */
enum { KERNEL_KB = 8 << 10 };

enum { UNCOUNTED_KB = 256 }; /* of each processor: what the kernel adds to its counts later */

static int events_fd = -1, stat_fd = -1, usage_fd = -1, limit_fd = -1, swap_limit_fd = -1;
static unsigned long seen;
static uint64_t limit_now = UINT64_MAX; /* in bytes; a new group has none */

static int open_first(int folder, const char *name, const char *older_name, int flags) {
    int fd = openat(folder, name, flags | O_CLOEXEC);
    return fd >= 0 ? fd : openat(folder, older_name, flags | O_CLOEXEC);
}

static bool read_counts(int fd, char *text, size_t size) {
    ssize_t got = fd < 0 ? 0 : pread(fd, text, size - 1, 0);
    text[got > 0 ? got : 0] = 0;
    return got > 0;
}

/* The number after `name` at the start of a line. */
static uint64_t count_of(const char *text, const char *name) {
    size_t length = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, name, length) && line[length] == ' ') return strtoull(line + length, NULL, 10);
    }
    return 0;
}

static unsigned long kills(void) {
    char text[1024];
    return read_counts(events_fd, text, sizeof text) ? (unsigned long)count_of(text, "oom_kill") : seen;
}

/* Take a limit of the programs' group, which only the client may open: that on memory, then in version 1 that on memory
 * and swap. */
void use_memory_limit(int fd) {
    if (limit_fd < 0) limit_fd = fd;
    else swap_limit_fd = fd;
}

bool has_memory_limit(void) { return limit_fd >= 0; }

/* Open the counters of the cgroup `folder`, unless it is of another controller. */
void watch_memory_cgroup(int folder) {
    if (stat_fd >= 0 || (stat_fd = openat(folder, "memory.stat", O_RDONLY | O_CLOEXEC)) < 0) return;
    events_fd = open_first(folder, "memory.events", "memory.oom_control", O_RDONLY);
    usage_fd = open_first(folder, "memory.current", "memory.usage_in_bytes", O_RDONLY);
    if (events_fd >= 0) seen = kills();
}

bool counts_memory(void) { return stat_fd >= 0; }

/* The memory that only the end of its owner frees: private memory, and files in memory (RAM disks, memfds, shared
 * mappings). */
static uint64_t held_kb(const char *counts) {
    uint64_t version_1 = count_of(counts, "rss"), anonymous = version_1 ? version_1 : count_of(counts, "anon");
    return (anonymous + count_of(counts, "shmem")) >> 10;
}

uint64_t held_memory_kb(void) {
    char counts[8192];
    return read_counts(stat_fd, counts, sizeof counts) ? held_kb(counts) + tcp_kb() : 0;
}

/* By how much the counts of the kernel may be off. */
uint64_t uncounted_kb(void) { return UNCOUNTED_KB * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN); }

static uint64_t number_in(int fd) {
    char text[64];
    return read_counts(fd, text, sizeof text) ? strtoull(text, NULL, 10) : 0;
}

static bool write_number(int fd, uint64_t number) {
    char text[32];
    int size = snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    return pwrite(fd, text, (size_t)size, 0) == size;
}

/* Version 1 never allows memory and swap together below memory alone, hence the order. If the group holds more than a
 * lower limit, the present one stays. */
static void set_limit(uint64_t limit) {
    bool raised = limit > limit_now;
    if (raised && swap_limit_fd >= 0) write_number(swap_limit_fd, limit);
    if (!write_number(limit_fd, limit)) return;
    if (!raised && swap_limit_fd >= 0) write_number(swap_limit_fd, limit);
    limit_now = limit;
}

/* What they hold that the kernel does not take back when memory runs out, as it does pages of files on a disk. */
static uint64_t lasting_usage(const char *counts) {
    uint64_t usage = number_in(usage_fd), cache = count_of(counts, "active_file") + count_of(counts, "inactive_file");
    return usage > cache ? usage - cache : 0;
}

/* Let the kernel grant programs `more_kb` beside what they hold now, if they have a group of their own. Returns what they
 * hold now. */
uint64_t limit_memory(uint64_t more_kb) {
    char counts[8192];
    if (!read_counts(stat_fd, counts, sizeof counts)) return 0;
    if (limit_fd >= 0) set_limit(lasting_usage(counts) + ((more_kb + KERNEL_KB + uncounted_kb()) << 10));
    return held_kb(counts);
}

bool counts_oom_kills(void) { return events_fd >= 0; }

bool oom_killed_since_last_call(void) {
    if (events_fd < 0) return false;
    unsigned long before = seen;
    seen = kills();
    return seen > before;
}
