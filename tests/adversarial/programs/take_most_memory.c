#include <stdio.h>
#include <stdlib.h>
int main() {
    volatile char *memory = malloc(440 << 20);
    for (long at = 0; at < 440 << 20; at += 4096) memory[at] = 1;
    puts("42");
}
