/* Computes for 90 ms. */
#include <stdio.h>
#include <time.h>
int main() {
    struct timespec now;
    do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while (now.tv_nsec < 90000000 && !now.tv_sec);
    puts("42");
}
