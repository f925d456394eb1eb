// What stands on a RAM disk counts as memory.
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
static char block[1 << 20];
int main() {
    char name[32];
    for (int i = 0; i < 400; i++) {
        sprintf(name, "/tmp/%d", i);
        int file = creat(name, 0600);
        if (file < 0) break;
        for (int k = 0; k < 4; k++) write(file, block, sizeof block);
        close(file);
    }
    puts("42");
}
