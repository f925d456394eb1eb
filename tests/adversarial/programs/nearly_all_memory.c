/* Has 120 of 128 MB, and prints what it may. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main() {
    char *memory = malloc(120 << 20);
    memset(memory, 'x', 120 << 20);
    write(2, memory, 4900000);
    write(1, memory, 4900000);
    usleep(100000);
}
