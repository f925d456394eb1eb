/* What the living processes of the slot have used, read from /proc. */
#include "harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t read_text(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, size - 1);
    if (fd >= 0) close(fd);
    text[got > 0 ? got : 0] = 0;
    return got > 0 ? (size_t)got : 0;
}

/* Its own processor time and that of the children it has waited for: fields 14 to 17 of /proc/PID/stat. */
static uint64_t cpu_us(int pid) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (!read_text(path, text, sizeof text)) return 0;
    char *field = strrchr(text, ')'); /* the name before it may hold anything */
    uint64_t ticks = 0;
    for (int index = 2; field && index < 17; index++) {
        field = strchr(field + 1, ' ');
        if (field && index >= 13) ticks += strtoull(field + 1, NULL, 10);
    }
    return ticks * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

/* How long one thread has waited for a processor: the second field of its schedstat, in ns. */
static uint64_t thread_delay_us(int pid, const char *thread) {
    char path[128], text[128];
    snprintf(path, sizeof path, "/proc/%d/task/%.16s/schedstat", pid, thread);
    if (!read_text(path, text, sizeof text)) return 0;
    char *space = strchr(text, ' ');
    return space ? strtoull(space, NULL, 10) / 1000 : 0;
}

static uint64_t longest_delay_us(int pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    uint64_t longest = 0;
    for (struct dirent *entry; threads && (entry = readdir(threads));) {
        uint64_t delay = entry->d_name[0] == '.' ? 0 : thread_delay_us(pid, entry->d_name);
        if (delay > longest) longest = delay;
    }
    if (threads) closedir(threads);
    return longest;
}

static uint64_t resident_kb(int pid) {
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    if (!read_text(path, text, sizeof text)) return 0;
    char *space = strchr(text, ' ');
    return space ? strtoull(space, NULL, 10) * ((uint64_t)sysconf(_SC_PAGESIZE) >> 10) : 0;
}

static void add_process(int pid, struct usage *usage) {
    uint64_t delay = longest_delay_us(pid);
    if (delay > usage->delay_us) usage->delay_us = delay;
    usage->cpu_us += cpu_us(pid);
    usage->resident_kb += resident_kb(pid);
}

/* Sum up the processes of the slot; of `program` alone where the slot has no pid namespace. The delay is the longest
 * that any of their threads has waited for a processor. */
void measure_processes(pid_t program, struct usage *usage) {
    *usage = (struct usage){0};
    if (!settings.namespaced) return add_process(program, usage);
    DIR *processes = opendir("/proc");
    for (struct dirent *entry; processes && (entry = readdir(processes));) {
        int pid = atoi(entry->d_name);
        if (pid > 1) add_process(pid, usage);
    }
    if (processes) closedir(processes);
}
