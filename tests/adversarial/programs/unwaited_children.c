/* Short-lived children that nobody waits for: their time is in no process's account. */
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}
int main() {
    signal(SIGCHLD, SIG_IGN);
    double begun = now(CLOCK_MONOTONIC);
    while (now(CLOCK_MONOTONIC) - begun < 4) {
        for (int child = 0; child < 2; child++)
            if (!fork()) {
                while (now(CLOCK_PROCESS_CPUTIME_ID) < 0.006) {
                }
                _exit(0);
            }
        usleep(5000);
    }
    puts("42");
}
