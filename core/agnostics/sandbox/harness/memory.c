/* Files in memory for a program's input and outputs. Unlike pipes they need no pumping, so a program that never reads,
 * never stops writing, or leaves its outputs open to a daemon causes no delay. */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RESERVE_BYTES = 8 << 20 };

static bool write_all(int fd, struct slice data) {
    while (data.size > 0) {
        ssize_t now = write(fd, data.data, data.size);
        if (now < 0 && errno == EINTR) continue;
        if (now <= 0) return false;
        data.data += now, data.size -= (size_t)now;
    }
    return true;
}

/* A file of a disk that is read-only for programs: even of its owner it takes no other mode. */
static int read_only_input(struct slice input) {
    static const char name[] = "input";
    int fd = openat(stream_disk(), name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
    int reader = fd >= 0 && write_all(fd, input) ? openat(input_disk(), name, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return -1;
    close(fd);
    unlinkat(stream_disk(), name, 0);
    return reader;
}

/* A read-only, sealed file with the contents `input`; -1 if memory is short. */
int sealed_input(struct slice input) {
    if (has_own_mounts()) return read_only_input(input);
    int fd = memfd_create("stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return -1;
    int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    bool sealed = write_all(fd, input) && !fcntl(fd, F_ADD_SEALS, seals);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int reader = sealed ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    close(fd);
    return reader;
}

int memory_file(void) {
    if (has_own_mounts()) return openat(stream_disk(), ".", O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    return memfd_create("output", MFD_CLOEXEC);
}

/* Where programs have no control group of their own: memory that is charged to the slot while nothing is wrong, so that the harness has some to clean up with after a
 * program that filled the slot to the brim. It is a file, since mapped memory would count in the peak of programs. */
static int reserve_fd = -1;

void hold_reserve(void) {
    static const char page[4096] = "reserve";
    struct stat status;
    if (has_program_group()) return;
    if (reserve_fd < 0) reserve_fd = memory_file();
    if (reserve_fd < 0 || fstat(reserve_fd, &status)) return;
    for (off_t at = status.st_size; at < RESERVE_BYTES; at += (off_t)sizeof page)
        if (pwrite(reserve_fd, page, sizeof page, at) != (ssize_t)sizeof page) return;
}

void release_reserve(void) {
    if (reserve_fd >= 0 && ftruncate(reserve_fd, 0)) { /* then the memory is not needed */
    }
}

uint64_t file_size(int fd) {
    struct stat status;
    return fstat(fd, &status) ? 0 : (uint64_t)status.st_size;
}

/* The memory that a file in memory takes, which may be less than its size. */
uint64_t file_kb(int fd) {
    struct stat status;
    return fstat(fd, &status) ? 0 : (uint64_t)status.st_blocks / 2;
}

/* Read up to `limit` bytes of an output into `buffer`, which grows as needed. */
bool read_output(int fd, size_t limit, struct frame *buffer, struct slice *out) {
    uint64_t whole = file_size(fd);
    size_t size = whole < limit ? (size_t)whole : limit;
    if (size > buffer->size) {
        char *data = realloc(buffer->data, size);
        if (!data) return false;
        buffer->data = data, buffer->size = size;
    }
    size_t done = 0;
    while (done < size) {
        ssize_t now = pread(fd, buffer->data + done, size - done, (off_t)done);
        if (now <= 0) break;
        done += (size_t)now;
    }
    *out = (struct slice){buffer->data ? buffer->data : "", done};
    return true;
}
