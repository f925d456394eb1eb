#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
int main() {
    struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY}, now;
    int raised = 0;
    for (int i = 0; i < 16; i++) {
        getrlimit(i, &now);
        if (now.rlim_max != RLIM_INFINITY) raised += !setrlimit(i, &most);
        raised += !syscall(SYS_prlimit64, getppid(), i, &most, 0);
    }
    raised += nice(-1) != -1;
    printf("%d\n", raised);
}
