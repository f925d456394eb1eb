/* The file of the trace: mapped into memory, so that what is written stays if the program is killed. */
#include "agn_trace.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GROWTH ((size_t)1 << 20)
#define END_BYTES 64 /* kept for the last line */

static struct {
    int descriptor;
    char *start;
    size_t size, mapped, limit;
    struct stat identity;
} file = {.descriptor = -1};

/* A fork writes nothing: its parent does. */
static void leave(void)
{
    if (file.start)
        munmap(file.start, file.limit + GROWTH);
    file.start = NULL;
}

int file_open(const char *path, size_t limit)
{
    file.descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file.descriptor < 0 || fstat(file.descriptor, &file.identity))
        return 0;
    file.limit = limit < END_BYTES ? END_BYTES : limit;
    void *start = mmap(NULL, file.limit + GROWTH, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0);
    if (start == MAP_FAILED)
        return 0;
    file.start = start;
    pthread_atfork(NULL, NULL, leave);
    return 1;
}

/* Whether the program has left our descriptor alone. */
static int is_ours(void)
{
    struct stat now;
    return !fstat(file.descriptor, &now) && now.st_dev == file.identity.st_dev && now.st_ino == file.identity.st_ino;
}

/* Whether the file has `size` bytes; without, writing them would be a signal. */
static int grow(size_t size)
{
    while (file.mapped < size) {
        if (!is_ours() || posix_fallocate(file.descriptor, (off_t)file.mapped, (off_t)GROWTH))
            return 0;
        file.mapped += GROWTH;
    }
    return 1;
}

int file_add(const char *line, size_t size)
{
    size_t end = file.size + size;
    if (!file.start || end + END_BYTES > file.limit || !grow(end + END_BYTES))
        return 0;
    memcpy(file.start + file.size, line, size);
    file.size = end;
    return 1;
}

void file_end(const char *reason)
{
    if (!file.start)
        return;
    if (grow(file.size + END_BYTES)) {
        int size = snprintf(file.start + file.size, END_BYTES, "{\"end\":\"%s\"}\n", reason);
        file.size += (size_t)size;
    }
    leave();
    if (is_ours() && !ftruncate(file.descriptor, (off_t)file.size)) /* else zeros follow the last line */
        close(file.descriptor);
}
