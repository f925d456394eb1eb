#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static const char *targets[] = {"/w/prog", "/w/snippet.c", "/harness", "/usr/bin/luajit", "/usr/bin/gcc", "/bin/sh",
                                "/lib/x", "/etc/x", "/etc/ld.so.preload", "/x", "/dev/x", "/dev/shm/x", "/dev/mqueue/x",
                                "/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger",
                                "/run/x", "/run/agnostics/x", "/run/agnostics/socket", "/var/tmp/x", "/sys/x",
                                "/cgroup/memory.limit_in_bytes", "/cgroup/cgroup.procs", "/cgroup/memory.max",
                                "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max",
                                "/sys/fs/cgroup/cgroup.procs"};
static void spoil(const char *path) {
    if (open(path, O_WRONLY | O_CREAT, 0777) >= 0) printf("wrote %s\n", path);
    if (!chmod(path, 0777)) printf("chmod %s\n", path);
    if (!rename(path, "/tmp/moved")) printf("moved %s\n", path);
    if (!unlink(path)) printf("removed %s\n", path);
    if (!link(path, "/tmp/linked") && !chmod("/tmp/linked", 0777)) printf("linked %s\n", path);
    unlink("/tmp/linked");
}
int main() {
    for (unsigned i = 0; i < sizeof targets / sizeof *targets; i++) spoil(targets[i]);
    DIR *harness = opendir("/proc/1");
    struct dirent *entry;
    char path[300];
    while (harness && (entry = readdir(harness))) {
        sprintf(path, "/proc/1/%s", entry->d_name);
        int file = open(path, O_WRONLY);
        if (file >= 0 && write(file, "0", 1) == 1) printf("wrote %s\n", path);
    }
    puts("42");
}
