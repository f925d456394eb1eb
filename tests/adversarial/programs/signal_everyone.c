#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int main() {
    int numbers[] = {SIGTERM, SIGSTOP, SIGSEGV, SIGABRT, SIGHUP, SIGCHLD, SIGKILL};
    for (int i = 0; i < 7; i++) kill(-1, numbers[i]), kill(1, numbers[i]), kill(getppid(), numbers[i]);
    puts("42");
}
