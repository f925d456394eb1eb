#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static char block[1 << 20];
int main() {
    char name[32];
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 1000; i++) {
        sprintf(name, "/tmp/%d", i);
        int file = creat(name, 0600);
        if (write(file, block, sizeof block) < 1) break;
        close(file);
    }
    puts("42");
}
