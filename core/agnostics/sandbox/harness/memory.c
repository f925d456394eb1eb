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

static bool write_all(int fd, struct slice data) {
    while (data.size > 0) {
        ssize_t now = write(fd, data.data, data.size);
        if (now < 0 && errno == EINTR) continue;
        if (now <= 0) return false;
        data.data += now, data.size -= (size_t)now;
    }
    return true;
}

/* A read-only, sealed file with the contents `input`; -1 if memory is short. */
int sealed_input(struct slice input) {
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

int output_file(void) { return memfd_create("output", MFD_CLOEXEC); }

uint64_t file_size(int fd) {
    struct stat status;
    return fstat(fd, &status) ? 0 : (uint64_t)status.st_size;
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
