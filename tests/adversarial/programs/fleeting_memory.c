/* Has twice the allowed memory, for less time than passes between two looks at it. */
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static void *map(long size, int flags) {
    return mmap(0, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
}
int main() {
    volatile int *ready = map(4096, MAP_SHARED);
    for (int i = 0; i < 16; i++)
        if (!fork()) {
            map(16 << 20, MAP_PRIVATE);
            __sync_fetch_and_add(ready, 1);
            while (*ready < 16) sched_yield();
            _exit(0);
        }
    while (wait(0) > 0) continue;
    puts("42");
}
