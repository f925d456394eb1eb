#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>
static char block[1 << 20];
int main() {
    for (int i = 0;; i++) {
        if (i % 4 == 0) dup2(memfd_create("x", 0), 500 + i / 4 % 500);
        write(500 + i / 4 % 500, block, 1 << 20);
    }
}
