#include <stdio.h>
#include <unistd.h>
int main() {
    for (int i = 0; i < 10000; i++)
        if (!vfork()) _exit(0);
    puts("42");
}
