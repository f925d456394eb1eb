#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main() {
    const char *names[] = {"pressure/cpu", "pressure/memory", "kallsyms", "config.gz", "interrupts", "cmdline"};
    for (int i = 0; i < 6; i++) {
        char path[64], byte;
        snprintf(path, sizeof path, "/proc/%s", names[i]);
        int fd = open(path, O_RDONLY);
        if (fd >= 0 && read(fd, &byte, 1) > 0) puts(names[i]);
        if (open(path, O_WRONLY) >= 0 && i < 2) puts(names[i]);
    }
    if (open("/dev/ptmx", O_RDWR | O_NOCTTY) >= 0) puts("ptmx");
    puts("end");
}
