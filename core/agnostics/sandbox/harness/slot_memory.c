/* The memory of the slot, as its cgroup (version 1 or 2) counts it: the limit on it while a program runs, what programs
 * hold, and kills by the out-of-memory killer. */
#include "harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a program may need beside its own memory: page tables, stacks and other memory of the kernel, and the pages of
 * its executables, without which it would come to a halt before it reaches its limit. */
enum { KERNEL_KB = 8 << 10 };

enum { LENT_BYTES = 16 << 20 };

enum { UNCOUNTED_KB = 256 }; /* of each processor: what the kernel adds to its counts later */

static int events_fd = -1, stat_fd = -1, usage_fd = -1, limit_fd = -1, swap_limit_fd = -1;
static unsigned long seen;
static uint64_t slot_limit; /* in bytes, while a narrower one is set; else 0 */
static uint64_t limit_before_loan, limit_with_loan; /* in bytes, until `take_back_memory`; else the first is 0 */

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

/* Take a limit that the client has opened, which version 2 lets no process in the cgroup's own namespace do: that on
 * memory, then in version 1 that on memory and swap. */
void use_memory_limit(int fd) {
    if (limit_fd < 0) limit_fd = fd;
    else if (swap_limit_fd < 0) swap_limit_fd = fd;
    else close(fd);
}

/* Open the counters of the cgroup `folder`, and its limits if the client could not, unless it is of another controller. */
void watch_memory_cgroup(int folder) {
    if (stat_fd >= 0 || (stat_fd = openat(folder, "memory.stat", O_RDONLY | O_CLOEXEC)) < 0) return;
    events_fd = open_first(folder, "memory.events", "memory.oom_control", O_RDONLY);
    usage_fd = open_first(folder, "memory.current", "memory.usage_in_bytes", O_RDONLY);
    if (events_fd >= 0) seen = kills();
    if (limit_fd >= 0) return;
    limit_fd = open_first(folder, "memory.max", "memory.limit_in_bytes", O_RDWR);
    swap_limit_fd = openat(folder, "memory.memsw.limit_in_bytes", O_RDWR | O_CLOEXEC);
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

/* Version 1 never allows memory and swap together below memory alone, hence the order. */
static bool raise_limit(uint64_t limit) {
    return (swap_limit_fd < 0 || write_number(swap_limit_fd, limit)) && write_number(limit_fd, limit);
}

/* False if the slot holds more than that. */
static bool lower_limit(uint64_t limit) {
    if (!write_number(limit_fd, limit)) return false;
    if (swap_limit_fd >= 0 && !write_number(swap_limit_fd, limit)) { /* then swap is limited as it was */
    }
    return true;
}

static uint64_t limit_of_slot(void) { return limit_fd < 0 ? 0 : number_in(limit_fd); } /* 0 for "max" */

/* What the slot holds that the kernel does not take back when memory runs out, as it does pages of files on a disk. */
static uint64_t lasting_usage(const char *counts) {
    uint64_t usage = number_in(usage_fd), cache = count_of(counts, "active_file") + count_of(counts, "inactive_file");
    return usage > cache ? usage - cache : 0;
}

/* Let the kernel grant `more_kb` beside what the slot holds now, until `widen_slot_memory`: the slot's own limit is that
 * of the largest program and of its compiler. Returns what the slot holds now. */
uint64_t narrow_slot_memory(uint64_t more_kb) {
    char counts[8192];
    take_back_memory(); /* of an earlier program, whose memory the kernel may have freed late */
    if (!read_counts(stat_fd, counts, sizeof counts)) return 0;
    uint64_t wide = limit_of_slot();
    uint64_t narrow = lasting_usage(counts) + ((more_kb + KERNEL_KB + uncounted_kb()) << 10);
    if (narrow < wide && lower_limit(narrow)) slot_limit = wide;
    return held_kb(counts);
}

/* Lend the slot memory while the harness reads /proc, which takes some. A program that the kernel has killed for memory
 * gives its files in memory back only as it ends; until then the kernel would kill the next process that asks for a
 * page, which is the harness. */
void lend_memory(void) {
    uint64_t limit = limit_of_slot();
    limit_with_loan = limit + LENT_BYTES;
    limit_before_loan = limit && raise_limit(limit_with_loan) ? limit : 0;
}

/* False if the slot holds more than it may without the loan, which it then keeps until the next call. The client may have
 * set another limit meanwhile. */
bool take_back_memory(void) {
    char counts[8192];
    if (!limit_before_loan) return true;
    if (limit_of_slot() == limit_with_loan) {
        if (read_counts(stat_fd, counts, sizeof counts) && lasting_usage(counts) >= limit_before_loan) return false;
        if (!lower_limit(limit_before_loan)) return false;
    }
    limit_before_loan = 0;
    return true;
}

/* Restore the slot's own limit; a loan that goes beyond it ends later, since the program that holds it still lives. */
void widen_slot_memory(void) {
    if (!slot_limit) return;
    bool lent_more = limit_before_loan && limit_with_loan > slot_limit;
    if (!lent_more && !raise_limit(slot_limit)) _exit(1); /* the client sees the connection close, and runs the job elsewhere */
    limit_before_loan = lent_more ? slot_limit : 0;
    slot_limit = 0;
}

bool counts_oom_kills(void) { return events_fd >= 0; }

bool oom_killed_since_last_call(void) {
    if (events_fd < 0) return false;
    unsigned long before = seen;
    seen = kills();
    return seen > before;
}
