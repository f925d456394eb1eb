/* The harness's own privileges: to become the slot's user, to kill its processes, and to remove its files. */
#include "harness.h"

#include <linux/capability.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const uint32_t needed = 1U << CAP_SETUID | 1U << CAP_SETGID | 1U << CAP_KILL | 1U << CAP_CHOWN |
                               1U << CAP_DAC_OVERRIDE | 1U << CAP_FOWNER;

/* Drop every capability but those needed to act on the slot's user; if there is no such user, all but that to mount. */
void keep_needed_capabilities(void) {
    for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        if (capability >= 32 || !(needed >> capability & 1)) prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    uint32_t kept = settings.uid ? needed : has_own_mounts() ? 1U << CAP_SYS_ADMIN : 0;
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{kept, kept, 0}, {0, 0, 0}};
    if (syscall(SYS_capset, &header, data)) die("harness: cannot give up capabilities");
}

static void mount_ram_disk(const char *path, const char *bytes, const char *inodes) {
    char options[128];
    snprintf(options, sizeof options, "mode=1777,size=%s,nr_inodes=%s", bytes, inodes);
    if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options)) die("harness: cannot mount a RAM disk");
}

/* Mount the work and the scratch folder; bwrap's own --tmpfs limits the bytes but not the inodes. */
void mount_ram_disks(const char *bytes, const char *inodes) {
    mount_ram_disk(settings.work, bytes, inodes);
    mount_ram_disk(settings.scratch, bytes, inodes);
}
