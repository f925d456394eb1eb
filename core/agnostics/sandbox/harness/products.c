/* The compiler's outputs, protected from the program between tests. If programs run as another user, the files become
 * the harness's and read-only. If they run as the same user, each entry of the work folder gets a read-only mount; where
 * that is not possible the files become read-only, and are compared by fingerprint after each test. */
#include "harness.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t fingerprint;
static struct timespec newest;

typedef bool visitor(int folder, const char *name, const struct stat *status);

/* The places of the folders above the one that is visited, at which their entries continue. */
static int64_t *places;
static size_t depth, capacity;

static void push_place(int64_t place) {
    if (depth == capacity) {
        capacity = 2 * capacity + 64;
        places = realloc(places, capacity * sizeof *places);
        if (!places) _exit(1);
    }
    places[depth++] = place;
}

/* Go from `*folder` into one of its entries, or back up; false if that is not possible. */
static bool enter(int *folder, const char *name) {
    int next = openat(*folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) return false;
    close(*folder);
    *folder = next;
    return true;
}

/* Visit the next entries of `*folder`, and enter the first folder among them. Returns 1, 0 at the end, and -1 if a visit
 * failed. */
static int visit_entries(int *folder, visitor *visit) {
    static char buffer[32 << 10];
    long size = syscall(SYS_getdents64, *folder, buffer, sizeof buffer);
    for (long at = 0; at < size; at += ((struct entry *)(buffer + at))->length) {
        struct entry *entry = (struct entry *)(buffer + at);
        struct stat status;
        if (is_dots(entry->name)) continue;
        if (fstatat(*folder, entry->name, &status, AT_SYMLINK_NOFOLLOW)) return -1;
        if (!visit(*folder, entry->name, &status)) return -1;
        if (!S_ISDIR(status.st_mode) || !enter(folder, entry->name)) continue;
        push_place(entry->offset);
        return 1;
    }
    return size < 0 ? -1 : size > 0;
}

/* Visit everything in the work folder, folders before what is in them, however deep: with one descriptor, and without a
 * path that could be too long. False if that failed. */
static bool visit_all(visitor *visit) {
    int folder = open(settings.work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int more = folder < 0 ? -1 : 1;
    depth = 0;
    while (more > 0) {
        more = visit_entries(&folder, visit);
        if (more || !depth) continue;
        more = enter(&folder, "..") && lseek(folder, places[--depth], SEEK_SET) >= 0 ? 1 : -1;
    }
    if (folder >= 0) close(folder);
    return !more;
}

/* Without another user the program could undo it, but not unseen; a write through a mapping leaves no other trace. */
static bool lock(int folder, const char *name, const struct stat *status) {
    if (settings.uid && fchownat(folder, name, 0, 0, AT_SYMLINK_NOFOLLOW)) return false;
    if (S_ISLNK(status->st_mode)) return true;
    return !fchmodat(folder, name, (status->st_mode & 0555) | (S_ISDIR(status->st_mode) ? 0555 : 0444), 0);
}

static void mix(uint64_t value) { fingerprint = (fingerprint ^ value) * 0x100000001b3U; }

static bool add_to_fingerprint(int folder, const char *name, const struct stat *status) {
    (void)folder;
    for (mix(depth); *name; name++) mix((unsigned char)*name);
    mix(status->st_ino), mix((uint64_t)status->st_size), mix(status->st_mode);
    mix((uint64_t)status->st_ctim.tv_sec), mix((uint64_t)status->st_ctim.tv_nsec);
    bool newer = status->st_ctim.tv_sec > newest.tv_sec ||
                 (status->st_ctim.tv_sec == newest.tv_sec && status->st_ctim.tv_nsec > newest.tv_nsec);
    if (newer) newest = status->st_ctim;
    return true;
}

static uint64_t take_fingerprint(void) {
    fingerprint = 0xcbf29ce484222325U;
    visit_all(add_to_fingerprint);
    return fingerprint;
}

static uint64_t original_fingerprint;

/* File times advance in ticks: wait until that of the newest file has passed, so that a later change is visible. */
static void wait_for_next_tick(void) {
    struct timespec now, pause = {0, 500000};
    do {
        nanosleep(&pause, NULL);
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
    } while (now.tv_sec < newest.tv_sec || (now.tv_sec == newest.tv_sec && now.tv_nsec <= newest.tv_nsec));
}

static bool is_fingerprinted(void) { return !settings.uid && !keeps_products_read_only(); }

/* Protect the files in the work folder from the program. Returns NULL, or the error. */
const char *lock_products(bool compiled) {
    if (compiled && !visit_all(lock)) return "cannot take over what the compiler made";
    const char *error = keep_products();
    if (!error && is_fingerprinted()) {
        newest = (struct timespec){0, 0};
        original_fingerprint = take_fingerprint();
        wait_for_next_tick();
    }
    return error;
}

bool products_unchanged(void) { return !is_fingerprinted() || take_fingerprint() == original_fingerprint; }
