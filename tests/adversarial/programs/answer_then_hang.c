#include <stdio.h>
#include <unistd.h>
int main() {
    puts("42"), fflush(stdout);
    for (;;) pause();
}
