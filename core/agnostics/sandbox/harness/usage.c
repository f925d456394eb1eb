/* The resource usage of the slot's living processes, read from /proc. */
#include "harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool read_text(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, size - 1);
    if (fd >= 0) close(fd);
    text[got > 0 ? got : 0] = 0;
    return got > 0;
}

/* The text after the name in a stat file; the name may contain any character. */
static const char *after_name(const char *stat) {
    const char *end = strrchr(stat, ')');
    return end && end[1] == ' ' ? end + 2 : "";
}

static uint64_t waited_children_us(int pid) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (!read_text(path, text, sizeof text)) return 0;
    const char *field = after_name(text); /* the third; children's times are the 16th and 17th */
    for (int index = 3; field && index < 16; index++)
        if ((field = strchr(field, ' '))) field++;
    char *rest = NULL;
    uint64_t ticks = field ? strtoull(field, &rest, 10) : 0;
    if (rest) ticks += strtoull(rest, NULL, 10);
    return ticks * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

/* The processor time of a process and of the children it has waited for. */
static uint64_t cpu_us(int pid) {
    struct timespec own = {0};
    clock_gettime((clockid_t)(~(unsigned)pid << 3 | 2), &own); /* clock_getcpuclockid(3) */
    return (uint64_t)own.tv_sec * 1000000 + (uint64_t)own.tv_nsec / 1000 + waited_children_us(pid);
}

/* Add a thread's state (runnable if it runs or waits for a processor) and its total waiting time. */
static void add_thread(int pid, const char *thread, struct usage *usage) {
    char path[128], text[1024];
    snprintf(path, sizeof path, "/proc/%d/task/%.16s/stat", pid, thread);
    if (read_text(path, text, sizeof text) && *after_name(text) == 'R') usage->runnable = true;
    snprintf(path, sizeof path, "/proc/%d/task/%.16s/schedstat", pid, thread);
    if (!read_text(path, text, sizeof text)) return;
    const char *space = strchr(text, ' ');
    uint64_t delay_us = space ? strtoull(space, NULL, 10) / 1000 : 0;
    if (delay_us > usage->delay_us) usage->delay_us = delay_us;
}

static uint64_t size_kb(const char *status, const char *name) {
    const char *line = strstr(status, name);
    return line ? strtoull(line + strlen(name), NULL, 10) : 0;
}

/* Add the memory of a thread's process; false if the thread has ended: then that of the others is still there. */
static bool add_memory(int pid, const char *thread, struct usage *usage) {
    char path[128], text[4096];
    snprintf(path, sizeof path, "/proc/%d/task/%.16s/status", pid, thread);
    if (!read_text(path, text, sizeof text) || !strstr(text, "\nRssAnon:")) return false;
    usage->private_kb += size_kb(text, "\nRssAnon:");
    usage->shared_kb += size_kb(text, "\nRssShmem:");
    return true;
}

static void add_process(int pid, bool memory, struct usage *usage) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    for (struct dirent *entry; threads && (entry = readdir(threads));) {
        if (entry->d_name[0] == '.') continue;
        add_thread(pid, entry->d_name, usage);
        if (memory && add_memory(pid, entry->d_name, usage)) memory = false;
    }
    if (threads) closedir(threads);
    usage->cpu_us += cpu_us(pid);
}

/* Sum up the processes of the slot, if asked to with their memory; only `program` if the slot has no pid namespace. The
 * delay is the longest total time for which one of their threads has waited for a processor. */
void measure_processes(pid_t program, bool memory, struct usage *usage) {
    *usage = (struct usage){.private_kb = memory ? tcp_kb() : 0};
    if (!settings.namespaced) {
        add_process(program, memory, usage);
        return;
    }
    DIR *processes = opendir("/proc");
    for (struct dirent *entry; processes && (entry = readdir(processes));) {
        int pid = atoi(entry->d_name);
        if (pid > 1 && pid != fork_server_pid()) add_process(pid, memory, usage);
    }
    if (processes) closedir(processes);
}

/* The resident memory of a process; false once it has none, because it ends. */
bool is_resident(pid_t pid, uint64_t *kb) {
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    if (!read_text(path, text, sizeof text) || !strstr(text, "\nVmRSS:")) return false;
    *kb = size_kb(text, "\nVmRSS:");
    return true;
}
