/* Processes that go on without their first thread, whose entries in /proc say nothing of their memory. */
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *take(void *last) {
    mmap(0, 60 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (!last) pause();
    sleep(1);
    puts("42");
    fflush(stdout);
    _exit(0);
}
int main() {
    pthread_t thread;
    for (int i = 0; i < 8; i++)
        if (!fork()) pthread_create(&thread, 0, take, 0), syscall(SYS_exit, 0);
    pthread_create(&thread, 0, take, main);
    syscall(SYS_exit, 0);
}
