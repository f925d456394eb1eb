/* Folders of the host as a slot sees them, made before bwrap starts: under inodes of the slot's own, so that a lock or a
 * watch on a file of the host reaches neither the host nor another slot; or at a path that the slot's root can reach. */
#include "harness.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* An overlay without a writable layer needs two others. The folder has nothing that a slot shows. */
#define EMPTY_PARENT "/sys"
#define EMPTY EMPTY_PARENT "/empty"

/* Where folders are bound for bwrap. */
#define BINDS "/sys"

enum { MAX_BINDS = 64 };

static bool write_file_of(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) close(fd);
    return written;
}

static bool keep_ids(uid_t uid, gid_t gid) {
    char users[64], groups[64];
    snprintf(users, sizeof users, "%u %u 1", uid, uid);
    snprintf(groups, sizeof groups, "%u %u 1", gid, gid);
    return write_file_of("/proc/self/setgroups", "deny") && write_file_of("/proc/self/uid_map", users) &&
           write_file_of("/proc/self/gid_map", groups);
}

/* Only root may mount in its own user namespace; others get a new one, in which they keep their ids. */
bool enter_mount_namespace(void) {
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (unshare(uid ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) || (uid && !keep_ids(uid, gid))) return false;
    return !mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL);
}

/* Cover each of `folders`, up to the next option, by a read-only overlay of itself. Returns what follows. */
char **overlay_folders(char **folders) {
    char layers[4096];
    if (!enter_mount_namespace()) die("harness: no mount namespace of its own");
    if (mount("tmpfs", EMPTY_PARENT, "tmpfs", 0, "mode=0755") || mkdir(EMPTY, 0755)) die(EMPTY);
    for (; *folders && strncmp(*folders, "--", 2); folders++) {
        snprintf(layers, sizeof layers, "lowerdir=%s:" EMPTY, *folders);
        if (mount("overlay", *folders, "overlay", MS_RDONLY, layers)) die(*folders);
    }
    if (umount2(EMPTY_PARENT, MNT_DETACH)) die(EMPTY_PARENT);
    return folders;
}

/* Bind each of `folders`, up to the next option, to BINDS/0, BINDS/1 and so on: only root may enter what leads to some of
 * them, and root in the slot is another user. Returns what follows. */
char **bind_folders(char **folders) {
    int count = 0, opened[MAX_BINDS];
    char from[64], to[64];
    if (!enter_mount_namespace()) die("harness: no mount namespace of its own");
    for (; *folders && strncmp(*folders, "--", 2); folders++) {
        if (count == MAX_BINDS || (opened[count] = open(*folders, O_PATH | O_DIRECTORY)) < 0) die(*folders);
        count++;
    }
    if (mount("tmpfs", BINDS, "tmpfs", 0, "mode=0755")) die(BINDS);
    for (int i = 0; i < count; i++) {
        snprintf(from, sizeof from, "/proc/self/fd/%d", opened[i]);
        snprintf(to, sizeof to, BINDS "/%d", i);
        if (mkdir(to, 0755) || mount(from, to, NULL, MS_BIND | MS_REC, NULL)) die(to);
        close(opened[i]);
    }
    return folders;
}
