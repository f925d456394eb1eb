/* The compiler's outputs, protected from the program between tests. If programs run as another user, the files become
 * the harness's and read-only; if they run as the same user, the files are compared by fingerprint after each test. */
#include "harness.h"

#include <ftw.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OPEN_FOLDERS = 16 };

static uint64_t fingerprint;
static struct timespec newest;

static int take_ownership(const char *path, const struct stat *status, int kind, struct FTW *place) {
    if (place->level == 0) return 0;
    if (lchown(path, 0, 0)) return 1;
    if (kind == FTW_SL) return 0;
    return chmod(path, (status->st_mode & 0555) | (S_ISDIR(status->st_mode) ? 0555 : 0444));
}

static void mix(uint64_t value) { fingerprint = (fingerprint ^ value) * 0x100000001b3U; }

static int add_to_fingerprint(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)kind;
    if (place->level == 0) return 0;
    for (; *path; path++) mix((unsigned char)*path);
    mix(status->st_ino), mix((uint64_t)status->st_size), mix(status->st_mode);
    mix((uint64_t)status->st_ctim.tv_sec), mix((uint64_t)status->st_ctim.tv_nsec);
    bool newer = status->st_ctim.tv_sec > newest.tv_sec ||
                 (status->st_ctim.tv_sec == newest.tv_sec && status->st_ctim.tv_nsec > newest.tv_nsec);
    if (newer) newest = status->st_ctim;
    return 0;
}

static uint64_t take_fingerprint(void) {
    fingerprint = 0xcbf29ce484222325U;
    nftw(settings.work, add_to_fingerprint, OPEN_FOLDERS, FTW_PHYS);
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

/* Protect the files in the work folder from the program. Returns NULL, or the error. */
const char *lock_products(bool compiled) {
    if (settings.uid && compiled && nftw(settings.work, take_ownership, OPEN_FOLDERS, FTW_PHYS))
        return "cannot take over what the compiler made";
    if (!settings.uid) {
        newest = (struct timespec){0, 0};
        original_fingerprint = take_fingerprint();
        wait_for_next_tick();
    }
    return keep_products();
}

bool products_unchanged(void) { return settings.uid || take_fingerprint() == original_fingerprint; }
