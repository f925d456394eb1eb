#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main() {
    char name[32];
    for (int i = 0; i < 1000000; i++) {
        sprintf(name, "/tmp/%d", i);
        int file = creat(name, 0600);
        if (file < 0) break;
        close(file);
    }
    puts("42");
}
