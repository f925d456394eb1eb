#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main() {
    if (!fork())
        for (;;) memset(malloc(1 << 20), 1, 1 << 20);
    wait(0);
    puts("42");
}
