/* Memory files that no descriptor holds, and of which no process has touched a page. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>
static char block[1 << 20];
int main() {
    for (;;) {
        int file = memfd_create("x", MFD_CLOEXEC);
        for (int i = 0; i < 4; i++) write(file, block, sizeof block);
        mmap(0, 4 * sizeof block, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
    }
}
