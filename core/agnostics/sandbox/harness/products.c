/* What the compiler made, kept from the program's hands between tests. Where programs run as another user it becomes
 * ours and read-only; where they run as the same one, it is looked over after each test. */
#include "harness.h"

#include <ftw.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OPEN_FOLDERS = 16 };

static uint64_t fingerprint;
static struct timespec newest;

static int make_ours(const char *path, const struct stat *status, int kind, struct FTW *place) {
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

static uint64_t untouched;

/* File times move in ticks: let the one of the newest file pass, so that a later change shows. */
static void wait_for_next_tick(void) {
    struct timespec now, pause = {0, 500000};
    do {
        nanosleep(&pause, NULL);
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
    } while (now.tv_sec < newest.tv_sec || (now.tv_sec == newest.tv_sec && now.tv_nsec <= newest.tv_nsec));
}

/* Take what stands in the work folder out of the program's reach. The answer is NULL, or what went wrong. */
const char *lock_products(bool compiled) {
    if (settings.uid && compiled && nftw(settings.work, make_ours, OPEN_FOLDERS, FTW_PHYS))
        return "cannot take over what the compiler made";
    if (!settings.uid) {
        newest = (struct timespec){0, 0};
        untouched = take_fingerprint();
        wait_for_next_tick();
    }
    return keep_products();
}

bool products_untouched(void) { return settings.uid || take_fingerprint() == untouched; }
