/* Mounts of the harness's own, for slots whose programs run as its user, which could change every file that they reach.
 * What they read is on a read-only mount; what belongs to the harness is on RAM disks to which no path leads. The user
 * namespace that owns these mounts is the harness's and its programs', but only the harness has a capability there. */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READ_ONLY = MS_RDONLY | MS_NOSUID | MS_NODEV };

static int streams = -1; /* the disk of inputs and outputs */
static int inputs = -1; /* the same, read-only */
static int memory = -1; /* the disk of programs' memory files */

bool has_own_mounts(void) { return memory >= 0; }

int stream_disk(void) { return streams; }

int input_disk(void) { return inputs; }

int memory_disk(void) { return memory; }

static bool bind_read_only(const char *path) {
    return !mount(path, path, NULL, MS_BIND, NULL) && !mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | READ_ONLY, NULL);
}

static int open_root(const char *path) { return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); }

static bool mount_disk(const char *path, int *disk, const char *options) {
    if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options)) return false;
    *disk = open_root(path);
    return *disk >= 0;
}

/* The scratch folder lends its path. The size of programs' disk is known only if it has a limit. */
static bool make_disks(void) {
    const char *path = settings.scratch;
    bool made = mount_disk(path, &streams, "mode=0700,size=0") && bind_read_only(path) && (inputs = open_root(path)) >= 0 &&
                !umount2(path, MNT_DETACH) && !umount2(path, MNT_DETACH);
    return made && mount_disk(path, &memory, "mode=0700,size=100%") && !umount2(path, MNT_DETACH);
}

static bool enter_and_make_disks(void) { return enter_mount_namespace() && make_disks(); }

/* Whether it would succeed, tried in a child: a namespace that was entered cannot be left. */
static bool can_make_disks(void) {
    int status = 1;
    pid_t child = fork();
    if (child == 0) _exit(!enter_and_make_disks());
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return !status;
}

/* Make the disks where programs have no user of their own. Machines that do not let users mount have none. */
void make_own_mounts(void) {
    if (settings.uid || !settings.namespaced || !can_make_disks()) return;
    if (!enter_and_make_disks()) die("harness: cannot make its RAM disks");
}

/* Let nobody change, move or remove an entry of the work folder, until `release_entry`. */
bool protect_entry(const char *name) {
    struct stat status;
    bool is_link = lstat(name, &status) || S_ISLNK(status.st_mode); /* a mount would follow it */
    return !is_link && has_own_mounts() && bind_read_only(name);
}

void release_entry(const char *name) {
    if (has_own_mounts()) umount2(name, MNT_DETACH | UMOUNT_NOFOLLOW);
}
