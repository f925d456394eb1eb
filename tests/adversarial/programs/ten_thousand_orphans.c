#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main() {
    for (int i = 0; i < 10000; i++) {
        int pid;
        while ((pid = vfork()) < 0) usleep(1000);
        if (!pid) {
            vfork();
            _exit(0);
        }
        waitpid(pid, 0, 0);
    }
    puts("42");
}
