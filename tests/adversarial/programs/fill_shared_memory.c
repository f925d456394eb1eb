/* An anonymous shared mapping counts; /dev/shm takes nothing. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
int main() {
    if (open("/dev/shm/x", O_RDWR | O_CREAT, 0600) >= 0 || open("/dev/mqueue/x", O_RDWR | O_CREAT, 0600) >= 0) puts("a way");
    memset(mmap(0, 1 << 28, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 1, 1 << 28);
    puts("42");
}
