/* The descriptors that an interpreter has when it is held, beside its streams and the program's file. A fork shares them,
 * with their positions and what waits in them, so that it gets its own in their places: duplicates of its own streams,
 * pipes with the same bytes, counters of events, what epoll watches, and its own memory. An interpreter with any other is not forked. */
#define _GNU_SOURCE
#include "preload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_DESCRIPTORS = 64, MAX_WATCHES = 64, MAX_WAITING = 16, LINE = 512 };

enum kind { STREAM, MEMORY, COUNTER, EPOLL, PIPE_END };

struct descriptor {
    enum kind kind;
    int fd, flags;
    int twin;       /* of a STREAM: 0, 1 or 2; of a PIPE_END: the other end */
    unsigned count; /* of a COUNTER; of a PIPE_END: the bytes that wait in the pipe */
    char waiting[MAX_WAITING];
};

struct watch {
    int epoll, fd;
    struct epoll_event event;
};

static struct descriptor descriptors[MAX_DESCRIPTORS];
static struct watch watches[MAX_WATCHES];
static size_t descriptor_count, watch_count;

/* --- in the held process --- */

static FILE *open_info(int fd) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    return NEXT(fopen)(path, "re");
}

static bool read_info(int fd, const char *format, void *value) {
    char line[LINE];
    bool found = false;
    FILE *info = open_info(fd);
    while (info && !found && fgets(line, sizeof line, info)) found = sscanf(line, format, value) == 1;
    if (info) fclose(info);
    return found;
}

/* Whether `fd` is a duplicate: it then has the position of `stream`, too. */
static bool duplicates(int fd, int stream) {
    struct stat one, other;
    if (fstat(fd, &one) || fstat(stream, &other) || one.st_dev != other.st_dev || one.st_ino != other.st_ino) return false;
    off_t place = lseek(stream, 0, SEEK_CUR);
    if (place < 0 || lseek(stream, place + 1, SEEK_SET) < 0) return false;
    bool moved = lseek(fd, 0, SEEK_CUR) == place + 1;
    return lseek(stream, place, SEEK_SET) == place && moved;
}

static bool is_stream(struct descriptor *descriptor) {
    for (int stream = 0; stream < 3; stream++)
        if (duplicates(descriptor->fd, stream)) return descriptor->kind = STREAM, descriptor->twin = stream, true;
    return false;
}

static bool is_own_memory(struct descriptor *descriptor, const char *target) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)syscall(SYS_getpid));
    descriptor->kind = MEMORY;
    return !strcmp(target, path);
}

static bool is_counter(struct descriptor *descriptor, const char *target) {
    descriptor->kind = COUNTER;
    return !strcmp(target, "anon_inode:[eventfd]") && read_info(descriptor->fd, "eventfd-count: %x", &descriptor->count);
}

static bool note_watch(int epoll, const char *line) {
    unsigned events;
    unsigned long long data;
    struct watch watch = {.epoll = epoll};
    if (strncmp(line, "tfd:", 4)) return true;
    if (sscanf(line, "tfd: %d events: %x data: %llx", &watch.fd, &events, &data) != 3) return false;
    watch.event.events = events, watch.event.data.u64 = data;
    if (watch_count == MAX_WATCHES) return false;
    watches[watch_count++] = watch;
    return true;
}

static bool is_epoll(struct descriptor *descriptor, const char *target) {
    char line[LINE];
    if (strcmp(target, "anon_inode:[eventpoll]")) return false;
    FILE *info = open_info(descriptor->fd);
    bool noted = info;
    while (noted && fgets(line, sizeof line, info)) noted = note_watch(descriptor->fd, line);
    if (info) fclose(info);
    descriptor->kind = EPOLL;
    return noted;
}

/* Read what waits in a pipe, and leave it there. */
static bool peek(struct descriptor *end) {
    int copy[2];
    if (pipe2(copy, O_CLOEXEC)) return false;
    ssize_t size = tee(end->fd, copy[1], sizeof end->waiting, SPLICE_F_NONBLOCK);
    bool whole = size == (ssize_t)end->count && NEXT(read)(copy[0], end->waiting, sizeof end->waiting) == size;
    syscall(SYS_close, copy[0]), syscall(SYS_close, copy[1]);
    return whole;
}

static bool is_readable(const struct descriptor *descriptor) { return (descriptor->flags & O_ACCMODE) == O_RDONLY; }

static bool is_pipe_end(struct descriptor *descriptor, const char *target) {
    descriptor->kind = PIPE_END, descriptor->twin = -1;
    if (strncmp(target, "pipe:", 5) || ioctl(descriptor->fd, FIONREAD, &descriptor->count)) return false;
    return !descriptor->count || !is_readable(descriptor) || peek(descriptor);
}

static bool note_descriptor(int fd, const char *target) {
    struct descriptor new = {.fd = fd};
    bool known = read_info(fd, "flags: %o", &new.flags) && descriptor_count < MAX_DESCRIPTORS &&
                 (is_stream(&new) || is_own_memory(&new, target) || is_counter(&new, target) || is_epoll(&new, target) ||
                  is_pipe_end(&new, target));
    if (known) descriptors[descriptor_count++] = new;
    return known;
}

static bool are_ends(const struct descriptor *one, const struct descriptor *other) {
    struct stat first, second;
    return one != other && other->kind == PIPE_END && !fstat(one->fd, &first) && !fstat(other->fd, &second) &&
           first.st_ino == second.st_ino;
}

/* Of a pipe each end is open once. */
static bool find_twin(struct descriptor *end) {
    size_t found = 0;
    for (size_t i = 0; i < descriptor_count; i++)
        if (are_ends(end, &descriptors[i])) end->twin = descriptors[i].fd, found++;
    return found == 1;
}

static bool is_noted(int fd) {
    for (size_t i = 0; i < descriptor_count; i++)
        if (descriptors[i].fd == fd) return true;
    return false;
}

static void check_noted(char *reason) {
    for (size_t i = 0; i < descriptor_count; i++)
        if (descriptors[i].kind == PIPE_END && !find_twin(&descriptors[i]))
            complain(reason, "it holds a descriptor that forks would share (%s)", "one end of a pipe");
    for (size_t i = 0; i < watch_count; i++)
        if (!is_noted(watches[i].fd))
            complain(reason, "it holds a descriptor that forks would share (%s)", "epoll of a file that is not open");
}

/* Note what is needed to make each descriptor anew; `reason` if one cannot be. */
void note_descriptors(char *reason) {
    DIR *all = opendir("/proc/self/fd");
    if (!all) complain(reason, "%s cannot be read", "/proc/self/fd");
    for (struct dirent *entry; all && (entry = readdir(all));) {
        int fd = atoi(entry->d_name);
        if (fd < 3 || fd == program_file.fd || fd == HOLD_FD || fd == dirfd(all)) continue;
        char target[100];
        ssize_t size = readlinkat(dirfd(all), entry->d_name, target, sizeof target - 1);
        target[size > 0 ? size : 0] = 0;
        if (!note_descriptor(fd, target)) complain(reason, "it holds a descriptor that forks would share (%s)", target);
    }
    if (all) closedir(all);
    check_noted(reason);
}

/* --- in a fork --- */

/* Put `made` in the place of a descriptor, which closes the shared one there. */
static bool place(int made, const struct descriptor *descriptor) {
    bool placed = made >= 0 && dup3(made, descriptor->fd, descriptor->flags & O_CLOEXEC) == descriptor->fd;
    if (made >= 0) syscall(SYS_close, made);
    return placed;
}

static bool remake_pipe_end(int made, const struct descriptor *end) {
    return place(made, end) && !fcntl(end->fd, F_SETFL, end->flags & ~O_CLOEXEC);
}

static const struct descriptor *twin_of(const struct descriptor *end) {
    size_t i = 0;
    while (descriptors[i].fd != end->twin) i++;
    return &descriptors[i];
}

/* At its end for reading; the other one comes with it. */
static bool remake_pipe(const struct descriptor *end) {
    int ends[2];
    if (!is_readable(end)) return true;
    if (pipe2(ends, O_CLOEXEC) || write(ends[1], end->waiting, end->count) != (ssize_t)end->count) return false;
    bool first = remake_pipe_end(ends[0], end);
    return remake_pipe_end(ends[1], twin_of(end)) && first;
}

static bool remake(const struct descriptor *descriptor) {
    switch (descriptor->kind) {
    case STREAM: return dup3(descriptor->twin, descriptor->fd, descriptor->flags & O_CLOEXEC) == descriptor->fd;
    case MEMORY: return place(NEXT(open)("/proc/self/mem", descriptor->flags), descriptor);
    case COUNTER: return place(eventfd(descriptor->count, descriptor->flags & (O_CLOEXEC | O_NONBLOCK)), descriptor);
    case EPOLL: return place(epoll_create1(0), descriptor);
    default: return remake_pipe(descriptor);
    }
}

bool remake_descriptors(void) {
    bool made = true;
    for (size_t i = 0; made && i < descriptor_count; i++) made = remake(&descriptors[i]);
    for (size_t i = 0; made && i < watch_count; i++)
        made = !epoll_ctl(watches[i].epoll, EPOLL_CTL_ADD, watches[i].fd, &watches[i].event);
    return made;
}
