/* Counts the settings of its namespaces that it may change, for every later program. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main() {
    const char *names[] = {"kernel/pid_max", "kernel/shmmax", "kernel/msgmni", "kernel/sem", "fs/mqueue/msg_max",
                           "kernel/hostname", "net/core/somaxconn"};
    int changed = 0;
    for (int i = 0; i < 7; i++) {
        char path[64], value[64];
        snprintf(path, sizeof path, "/proc/sys/%s", names[i]);
        int fd = open(path, O_RDWR), size = fd < 0 ? 0 : read(fd, value, sizeof value);
        changed += size > 0 && pwrite(fd, value, size, 0) == size;
    }
    printf("%d", changed);
}
