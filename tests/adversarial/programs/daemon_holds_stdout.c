#include <stdio.h>
#include <unistd.h>
int main() {
    if (!fork()) {
        setsid();
        if (!fork())
            for (;;) pause();
        _exit(0);
    }
    puts("42");
}
