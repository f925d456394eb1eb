/* The input is the same for whoever reads it, and nobody can change it. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int main() {
    char text[8] = {0};
    int file = open("/proc/self/fd/0", O_RDWR);
    if (write(0, "x", 1) == 1 || write(file, "x", 1) == 1 || !ftruncate(file, 0) || !fchmod(0, 0)) puts("changed");
    if (!chmod("/proc/self/fd/0", 0)) puts("chmod");
    lseek(0, 0, SEEK_SET), read(0, text, 7), lseek(0, 1000, SEEK_SET);
    puts(text);
}
