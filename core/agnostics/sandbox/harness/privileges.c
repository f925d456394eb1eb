/* What the harness itself may do: nothing but to become the slot's user, and to kill and clear up after it. */
#include "harness.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const uint32_t needed = 1U << CAP_SETUID | 1U << CAP_SETGID | 1U << CAP_KILL | 1U << CAP_CHOWN |
                               1U << CAP_DAC_OVERRIDE | 1U << CAP_FOWNER;

static void fail(const char *what) {
    perror(what);
    exit(3);
}

/* Give up every capability but those needed to act on the slot's user; all of them where there is no such user. */
void keep_needed_capabilities(void) {
    for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        if (capability >= 32 || !(needed >> capability & 1)) prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    uint32_t kept = settings.uid ? needed : 0;
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{kept, kept, 0}, {0, 0, 0}};
    if (syscall(SYS_capset, &header, data)) fail("harness: cannot give up capabilities");
}

static void mount_ram_disk(const char *path, const char *bytes, const char *inodes) {
    char options[128];
    snprintf(options, sizeof options, "mode=1777,size=%s,nr_inodes=%s", bytes, inodes);
    if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options)) fail("harness: cannot mount a RAM disk");
}

/* Mount the work and the scratch folder; bwrap's own --tmpfs bounds the bytes but not the inodes. */
void mount_ram_disks(const char *bytes, const char *inodes) {
    mount_ram_disk(settings.work, bytes, inodes);
    mount_ram_disk(settings.scratch, bytes, inodes);
}

static int rules = -1;

static void allow_writing(const char *folder) {
    struct landlock_path_beneath_attr rule = {.parent_fd = open(folder, O_PATH | O_CLOEXEC)};
    rule.allowed_access = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REFER;
    if (rule.parent_fd < 0) return;
    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(rule.parent_fd);
}

/* Where programs may write: their two folders and devices. Not in /proc: a program that made itself as precious as the
 * harness there would have the harness killed for the memory that it takes. Where the kernel knows no such rules the
 * user that it runs as has to do. */
void prepare_writing_rules(void) {
    struct landlock_ruleset_attr handled = {LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REFER};
    rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled.handled_access_fs, 0);
    if (rules < 0) return;
    allow_writing(settings.work), allow_writing(settings.scratch), allow_writing("/dev");
}

/* In a program's first moments: from here on it writes nowhere else. */
void confine_writing(void) {
    if (rules >= 0) syscall(SYS_landlock_restrict_self, rules, 0);
}
