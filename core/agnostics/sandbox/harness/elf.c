/* The memory that an executable asks for before it runs. */
#include "harness.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SEGMENTS = 64 };

static size_t read_segments(int fd, Elf64_Phdr *segments) {
    Elf64_Ehdr header;
    bool is_elf = pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
                  !memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_ident[EI_CLASS] == ELFCLASS64 &&
                  header.e_phentsize == sizeof *segments && header.e_phnum <= MAX_SEGMENTS;
    size_t size = is_elf ? header.e_phnum * sizeof *segments : 0;
    return size && pread(fd, segments, size, (off_t)header.e_phoff) == (ssize_t)size ? header.e_phnum : 0;
}

/* The size of its writable segments (MiB), without which the kernel cannot start it; 0 for a script, for example. */
uint64_t writable_mb(const char *path) {
    Elf64_Phdr segments[MAX_SEGMENTS];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t count = fd < 0 ? 0 : read_segments(fd, segments);
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        if (segments[i].p_type == PT_LOAD && segments[i].p_flags & PF_W) bytes += segments[i].p_memsz;
    if (fd >= 0) close(fd);
    return bytes >> 20;
}
