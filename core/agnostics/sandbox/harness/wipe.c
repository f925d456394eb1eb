/* Removal of a program's processes, and of its files in the two writable folders. */
#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int work = -1, scratch = -1;
static char **kept; /* the names in the work folder that stay between tests */
static size_t kept_count;
static bool kept_read_only; /* each of them is protected */

enum { MAX_PROTECTED = 64, SMALL_PAUSE_US = 500, SMALL_END_US = 1000000 };

/* Without a pid namespace: orphans become children of the harness (their subreaper), so repeat until there are none. */
static void kill_children(void) {
    FILE *children = fopen("/proc/thread-self/children", "re");
    for (int pid; children && fscanf(children, "%d", &pid) == 1;) kill(pid, SIGKILL);
    if (children) fclose(children);
}

/* Kill every process but the harness and the fork server. In a pid namespace that is one call, which no fork can
 * outrun; it is not needed if the harness has no children, since every process there descends from one. */
void kill_everything(void) {
    if (kill_all_but_fork_server()) return;
    if (settings.namespaced && waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD) return;
    do {
        if (settings.namespaced) kill(-1, SIGKILL);
        else kill_children();
    } while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
}

static bool kill_small(uint64_t limit_kb) {
    bool found = false;
    uint64_t kb;
    DIR *processes = opendir("/proc");
    for (struct dirent *entry; processes && (entry = readdir(processes));) {
        int pid = atoi(entry->d_name);
        if (pid <= 1 || pid == fork_server_pid() || !is_resident(pid, &kb) || kb > limit_kb) continue;
        kill(pid, SIGKILL);
        found = true;
    }
    if (processes) closedir(processes);
    return found;
}

/* Kill the processes that are no larger than the harness, and wait for their end, before the others are killed: where
 * memory has run out, the kernel may be choosing a process to kill on behalf of one of them, one after the other. If all
 * larger ones ended meanwhile, it would choose the harness. */
void kill_small_processes(void) {
    const struct timespec pause = {0, SMALL_PAUSE_US * 1000L};
    uint64_t own_kb, end_us = clock_us() + SMALL_END_US;
    if (!settings.namespaced || !is_resident(getpid(), &own_kb)) return;
    while (kill_small(2 * own_kb) && clock_us() < end_us) nanosleep(&pause, NULL);
}

static int open_folder(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && !fchmod(fd, 01777)) return fd;
    perror(path);
    exit(3);
}

void open_folders(void) {
    work = open_folder(settings.work), scratch = open_folder(settings.scratch);
    if (!fchdir(work)) return;
    perror(settings.work);
    exit(3);
}

/* Undo what a program of the harness's own user did to the two folders themselves: their modes may keep the harness out,
 * and the next program would see flags. */
void restore_folders(void) {
    int folders[] = {work, scratch}, none = 0;
    for (int i = 0; !settings.uid && i < 2; i++) {
        fchmod(folders[i], 01777);
        ioctl(folders[i], FS_IOC_SETFLAGS, &none);
    }
}

/* The size of the files in the two folders, and of memory files; 0 where they are not the slot's own RAM disks. */
uint64_t disks_kb(void) {
    int folders[] = {work, scratch, memory_disk()};
    uint64_t bytes = 0;
    for (int i = 0; settings.namespaced && i < 3; i++) {
        struct statfs disk;
        if (!fstatfs(folders[i], &disk) && disk.f_type == TMPFS_MAGIC)
            bytes += (disk.f_blocks - disk.f_bfree) * (uint64_t)disk.f_bsize;
    }
    return bytes >> 10;
}

/* Write a file that the program may read and execute, but not change. Returns NULL, or the error. */
const char *write_file(const struct file *file) {
    int fd = openat(work, file->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0555);
    struct slice data = file->data;
    while (fd >= 0 && data.size > 0) {
        ssize_t now = write(fd, data.data, data.size);
        if (now <= 0) break;
        data.data += now, data.size -= (size_t)now;
    }
    if (fd < 0 || close(fd) || data.size > 0) return "cannot write the program into the work folder";
    return NULL;
}

bool is_dots(const char *name) { return !strcmp(name, ".") || !strcmp(name, ".."); }

static bool is_kept(const char *name) {
    for (size_t i = 0; i < kept_count; i++)
        if (!strcmp(kept[i], name)) return true;
    return false;
}

/* Remove a file or an empty folder; false for a folder with entries. */
static bool remove_simple(int folder, const char *name) {
    return !unlinkat(folder, name, 0) || (errno == EISDIR && !unlinkat(folder, name, AT_REMOVEDIR));
}

/* Move an entry up into `top` under a free name, to be removed there: depth takes no stack and no descriptors. */
static bool hoist(int folder, const char *name, int top) {
    static unsigned long counter;
    char free_name[48];
    fchmodat(folder, name, 0700, 0);
    for (int attempt = 0; attempt < 1000; attempt++) {
        snprintf(free_name, sizeof free_name, ".wiped-%lu", counter++);
        if (!syscall(SYS_renameat2, folder, name, top, free_name, 1 /* RENAME_NOREPLACE */)) return true;
        if (errno != EEXIST) return false;
    }
    return false;
}

static bool empty_into(int folder, int top) {
    static char buffer[32 << 10];
    for (long size, progress = 1; progress;) {
        progress = 0;
        lseek(folder, 0, SEEK_SET);
        while ((size = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0)
            for (long at = 0; at < size; at += ((struct entry *)(buffer + at))->length) {
                const char *name = ((struct entry *)(buffer + at))->name;
                if (!is_dots(name)) progress += remove_simple(folder, name) || hoist(folder, name, top);
            }
    }
    return true;
}

static bool remove_entry(int top, const char *name) {
    if (remove_simple(top, name)) return true;
    fchmodat(top, name, 0700, 0);
    int folder = openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) return false;
    empty_into(folder, top);
    close(folder);
    return !unlinkat(top, name, AT_REMOVEDIR);
}

/* Remove the entries of `top`, if `keep` is true without those that stay; false if one cannot be removed. */
static bool sweep(int top, bool keep) {
    static char buffer[32 << 10];
    for (;;) {
        long size, removed = 0, left = 0;
        lseek(top, 0, SEEK_SET);
        while ((size = syscall(SYS_getdents64, top, buffer, sizeof buffer)) > 0)
            for (long at = 0; at < size; at += ((struct entry *)(buffer + at))->length) {
                const char *name = ((struct entry *)(buffer + at))->name;
                if (is_dots(name) || (keep && is_kept(name))) continue;
                if (remove_entry(top, name)) removed++;
                else left++;
            }
        if (!removed) return !left;
    }
}

/* Remove all files but those kept by `keep_products`. */
bool wipe_scratch(void) {
    bool wiped = sweep(work, true) && sweep(scratch, false);
    if (!settings.uid) futimens(work, NULL), futimens(scratch, NULL); /* a program may have set them */
    return wiped;
}

bool keeps_products_read_only(void) { return kept_read_only; }

static void protect_products(void) {
    kept_read_only = kept_count <= MAX_PROTECTED;
    for (size_t i = 0; i < kept_count && i < MAX_PROTECTED; i++) kept_read_only &= protect_entry(kept[i]);
}

void forget_products(void) {
    for (size_t i = 0; i < kept_count && i < MAX_PROTECTED; i++) release_entry(kept[i]);
    for (size_t i = 0; i < kept_count; i++) free(kept[i]);
    free(kept);
    kept = NULL, kept_count = 0;
}

/* Keep the present files of the work folder until `forget_products`. */
const char *keep_products(void) {
    forget_products();
    lseek(work, 0, SEEK_SET);
    int copy = openat(work, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (is_dots(entry->d_name)) continue;
        char **more = realloc(kept, (kept_count + 1) * sizeof *kept);
        char *name = strdup(entry->d_name);
        if (!more || !name) _exit(1);
        kept = more, kept[kept_count++] = name;
    }
    if (folder) closedir(folder);
    protect_products();
    return folder ? NULL : "cannot list the work folder";
}
