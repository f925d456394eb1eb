/* Folders of the host under inodes of the slot's own, made before bwrap starts: a lock or a watch on a file of the
 * host reaches neither the host nor another slot. */
#include "harness.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* An overlay without a writable layer needs two others. */
#define EMPTY_PARENT "/tmp"
#define EMPTY EMPTY_PARENT "/empty"

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
