/* Files of the workspace as a tar archive, for boxes without tar: GNU's format, and when reading the names of PAX. */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 512, CHUNK = 1 << 16, OPEN_FOLDERS = 16, MODES = 07777, LONG_NAME = 'L', LONG_LINK = 'K' };

struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[8], rest[247];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header is a block");

static const char zeros[2 * BLOCK];

int read_file(int count, char **arguments) {
    char data[CHUNK];
    ssize_t got = 0;
    struct stat status;
    if (count != 1) return fail("read", "expected FILE");
    int fd = open(arguments[0], O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status)) return fail_errno(arguments[0]);
    if (S_ISDIR(status.st_mode)) return fail(arguments[0], strerror(EISDIR));
    while ((got = read(fd, data, sizeof data)) > 0)
        if (!write_all(1, data, (size_t)got)) return fail_errno("the output");
    return got < 0 && errno != EAGAIN ? fail_errno(arguments[0]) : OK;
}

/* --- packing --- */

static bool pad(size_t size) { return write_all(1, zeros, (BLOCK - size % BLOCK) % BLOCK); }

static bool write_header(const char *name, const char *link, char type, mode_t mode, size_t size, time_t time) {
    struct header header = {.type = type, .magic = "ustar  "};
    strncpy(header.name, name, sizeof header.name);
    strncpy(header.link, link, sizeof header.link);
    snprintf(header.mode, sizeof header.mode, "%07o", mode & MODES);
    snprintf(header.size, sizeof header.size, "%011zo", size);
    snprintf(header.mtime, sizeof header.mtime, "%011llo", time < 0 ? 0ULL : (unsigned long long)time);
    memset(header.checksum, ' ', sizeof header.checksum);
    unsigned sum = 0;
    for (size_t i = 0; i < BLOCK; i++) sum += ((unsigned char *)&header)[i];
    snprintf(header.checksum, sizeof header.checksum, "%06o", sum);
    return write_all(1, &header, BLOCK);
}

/* A name that its field does not hold stands before its header, as a file of its own. */
static bool write_long(const char *name, char type, size_t room) {
    size_t size = strlen(name) + 1;
    if (size - 1 <= room) return true;
    return write_header("././@LongLink", "", type, 0644, size, 0) && write_all(1, name, size) && pad(size);
}

static bool write_entry(const char *name, const char *link, char type, const struct stat *status, size_t size) {
    const struct header *header = NULL;
    return write_long(name, LONG_NAME, sizeof header->name) && write_long(link, LONG_LINK, sizeof header->link) &&
           write_header(name, link, type, status->st_mode, size, status->st_mtime);
}

/* A file that shrinks meanwhile is filled with zeros, one that grows is cut: the header has told its size. */
static bool write_contents(int fd, size_t size) {
    static char data[CHUNK];
    for (size_t left = size; left;) {
        ssize_t got = read(fd, data, left < CHUNK ? left : CHUNK);
        if (got < 0) return false;
        if (!got) memset(data, 0, CHUNK), got = (ssize_t)(left < CHUNK ? left : CHUNK);
        if (!write_all(1, data, (size_t)got)) return false;
        left -= (size_t)got;
    }
    return pad(size);
}

/* What is gone by now is left out: the workspace may be in use. */
static bool pack_file(const char *path) {
    struct stat status;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT;
    bool done = !fstat(fd, &status) && write_entry(path, "", '0', &status, (size_t)status.st_size) &&
                write_contents(fd, (size_t)status.st_size);
    int error = errno;
    close(fd);
    errno = error;
    return done;
}

static bool pack_link(const char *path, const struct stat *status) {
    char target[PATH_MAX];
    ssize_t size = readlink(path, target, sizeof target - 1);
    if (size < 0) return errno == ENOENT;
    target[size] = 0;
    return write_entry(path, target, '2', status, 0);
}

static bool pack_folder(const char *path, const struct stat *status) {
    char name[PATH_MAX + 1];
    snprintf(name, sizeof name, "%s/", path);
    return write_entry(name, "", '5', status, 0);
}

/* The workspace's own folder belongs to the harness; sockets, pipes and devices are left out. */
static int visit(const char *path, const struct stat *status, int kind, struct FTW *place) {
    bool done = true;
    if (place->level == 0) return kind == FTW_DNR;
    path += 2; /* "./" */
    if (kind == FTW_DNR || kind == FTW_NS) errno = EACCES, done = false;
    else if (S_ISDIR(status->st_mode)) done = pack_folder(path, status);
    else if (S_ISLNK(status->st_mode)) done = pack_link(path, status);
    else if (S_ISREG(status->st_mode)) done = pack_file(path);
    return done ? 0 : fail_errno(path);
}

int pack(int count, char **arguments) {
    (void)arguments;
    if (count) return fail("pack", "takes no arguments");
    errno = 0;
    int failed = nftw(".", visit, OPEN_FOLDERS, FTW_PHYS);
    if (failed) return failed > 0 ? FAILED : fail_errno("the workspace");
    return write_all(1, zeros, sizeof zeros) ? OK : fail_errno("the output");
}

/* --- unpacking --- */

struct entry {
    char name[PATH_MAX], link[PATH_MAX];
    char type;
    mode_t mode;
    time_t time;
    size_t size;
};

static bool read_all(void *data, size_t size) {
    char *at = data;
    while (size) {
        ssize_t got = read(0, at, size);
        if (got <= 0) return false;
        at += got, size -= (size_t)got;
    }
    return true;
}

static bool skip(size_t size) {
    static char data[CHUNK];
    for (size_t part; size; size -= part) {
        part = size < CHUNK ? size : CHUNK;
        if (!read_all(data, part)) return false;
    }
    return true;
}

static size_t padded(size_t size) { return (size + BLOCK - 1) / BLOCK * BLOCK; }

static bool read_text(char *text, size_t room, size_t size) {
    if (size >= room || !read_all(text, size) || !skip(padded(size) - size)) return false;
    text[size] = 0;
    return true;
}

/* The names among the records ("LENGTH KEY=VALUE\n") of a PAX header. */
static void take_pax_names(char *text, size_t size, struct entry *entry) {
    for (char *at = text; at < text + size;) {
        size_t length = strtoul(at, NULL, 10), left = (size_t)(text + size - at);
        char *key = memchr(at, ' ', left), *value = memchr(at, '=', left);
        if (!key || !value || length == 0 || length > left || at[length - 1] != '\n') return;
        at[length - 1] = 0;
        if (!strncmp(key, " path=", 6)) snprintf(entry->name, sizeof entry->name, "%s", value + 1);
        if (!strncmp(key, " linkpath=", 10)) snprintf(entry->link, sizeof entry->link, "%s", value + 1);
        at += length;
    }
}

/* Read the next header, with the names that stand before it. Returns 1, 0 at the end of the archive, -1 for an error. */
static int next_entry(struct entry *entry) {
    static char names[2 * PATH_MAX + BLOCK];
    struct header header;
    *entry = (struct entry){0};
    for (;;) {
        if (!read_all(&header, BLOCK)) return -1;
        if (!header.name[0] && !header.type) return 0;
        char size[13] = {0}, mode[9] = {0}, time[13] = {0};
        memcpy(size, header.size, 12), memcpy(mode, header.mode, 8), memcpy(time, header.mtime, 12);
        entry->size = strtoul(size, NULL, 8);
        entry->mode = (mode_t)strtoul(mode, NULL, 8) & MODES;
        entry->time = (time_t)strtoul(time, NULL, 8);
        entry->type = header.type;
        bool is_name = header.type == LONG_NAME, is_link = header.type == LONG_LINK, is_pax = header.type == 'x';
        char *text = is_name ? entry->name : is_link ? entry->link : names;
        if (!is_name && !is_link && !is_pax) break;
        if (!read_text(text, is_pax ? sizeof names : PATH_MAX, entry->size)) return -1;
        if (is_pax) take_pax_names(names, entry->size, entry);
    }
    if (!entry->name[0]) memcpy(entry->name, header.name, sizeof header.name);
    if (!entry->link[0]) memcpy(entry->link, header.link, sizeof header.link);
    return 1;
}

static bool make_parents(char *path) {
    for (char *at = strchr(path, '/'); at && at[1]; at = strchr(at + 1, '/')) {
        if (at == path) continue;
        *at = 0;
        bool made = !mkdir(path, 0755) || errno == EEXIST;
        *at = '/';
        if (!made) return false;
    }
    return true;
}

static bool unpack_file(const struct entry *entry) {
    static char data[CHUNK];
    int fd = open(entry->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    for (size_t left = entry->size, part; left; left -= part) {
        part = left < CHUNK ? left : CHUNK;
        if (!read_all(data, part) || !write_all(fd, data, part)) return close(fd), false;
    }
    struct timespec times[] = {{entry->time, 0}, {entry->time, 0}};
    bool done = !fchmod(fd, entry->mode) && !futimens(fd, times);
    return !close(fd) && done && skip(padded(entry->size) - entry->size);
}

static bool unpack_entry(struct entry *entry) {
    if (!make_parents(entry->name)) return false;
    if (entry->type == '5') return !mkdir(entry->name, 0700) || errno == EEXIST;
    if (unlink(entry->name) && errno != ENOENT) return false;
    if (entry->type == '2') return !symlink(entry->link, entry->name);
    if (entry->type == '1') return !link(entry->link, entry->name);
    return entry->type == '0' || !entry->type ? unpack_file(entry) : skip(padded(entry->size));
}

/* A folder gets its mode once its files are in it. The archive is a file in memory, so that it can be read twice. */
static bool finish_folder(const struct entry *entry) {
    struct timespec times[] = {{entry->time, 0}, {entry->time, 0}};
    if (entry->type != '5') return skip(padded(entry->type == '2' || entry->type == '1' ? 0 : entry->size));
    return !utimensat(AT_FDCWD, entry->name, times, 0) && !chmod(entry->name, entry->mode);
}

int unpack(int count, char **arguments) {
    static struct entry entry;
    int next = 0;
    (void)arguments;
    if (count) return fail("unpack", "takes no arguments");
    for (int pass = 0; pass < 2; pass++) {
        if (lseek(0, 0, SEEK_SET)) return fail_errno("the archive");
        while ((next = next_entry(&entry)) > 0)
            if (!(pass == 0 ? unpack_entry(&entry) : finish_folder(&entry))) return fail_errno(entry.name);
        if (next < 0) return fail("the archive", "it is torn");
    }
    return OK;
}
