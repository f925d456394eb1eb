/* Takes as many as it gets of what the kernel counts per user. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
int main() {
    timer_t timer;
    int ends[2];
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    sigset_t blocked;
    sigfillset(&blocked), sigprocmask(SIG_BLOCK, &blocked, 0);
    for (int i = 0; i < 20000 && !timer_create(CLOCK_MONOTONIC, &event, &timer); i++);
    for (int i = 0; i < 20000 && !sigqueue(getpid(), SIGRTMIN, (union sigval){0}); i++);
    while (inotify_init() >= 0);
    while (epoll_create1(0) >= 0 && eventfd(0, 0) >= 0 && !pipe(ends)) fcntl(ends[0], F_SETPIPE_SZ, 1 << 20);
    puts("42");
}
