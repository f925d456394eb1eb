#include <stdio.h>
#include <stdlib.h>
int main() {
    void *room = malloc(1UL << 60);
    puts(room ? "got it" : "42");
}
