#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main() {
    int file = open("/proc/self/fd/1", O_RDWR);
    if (file < 0) file = 1;
    ftruncate(file, 3);
    memcpy(mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), "42\n", 3);
    _exit(0);
}
