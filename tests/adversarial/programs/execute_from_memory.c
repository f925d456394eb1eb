/* A program that stands in no folder. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>
extern char **environ;
int main() {
    int from = open("/bin/echo", O_RDONLY), to = memfd_create("hidden", MFD_CLOEXEC);
    while (sendfile(to, from, 0, 1 << 20) > 0);
    fexecve(to, (char *[]){"echo", "42", 0}, environ);
}
