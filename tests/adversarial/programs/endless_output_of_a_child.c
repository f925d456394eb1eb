/* The one that writes is not the one that is watched. */
#include <unistd.h>
static char block[4096];
int main() {
    if (!fork())
        for (setsid();;) write(1, block, sizeof block);
    for (;;) pause();
}
