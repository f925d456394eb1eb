/* Ends before it is looked at for the first time, with its memory in children that go on. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int main() {
    int ends[2];
    char byte;
    pipe(ends);
    for (int i = 0; i < 8; i++)
        if (!fork()) {
            mmap(0, 18 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
            write(ends[1], "x", 1);
            pause();
        }
    for (int i = 0; i < 8; i++) read(ends[0], &byte, 1);
    puts("42");
}
