/* A daemon that spoils the answer, once the program is gone. */
#include <stdio.h>
#include <unistd.h>
int main() {
    int parent = getpid();
    if (!fork()) {
        setsid(), usleep(20000);
        while (getppid() == parent) usleep(1);
        usleep(20000);
        for (;;) pwrite(1, "43", 2, 0);
    }
    puts("42");
}
