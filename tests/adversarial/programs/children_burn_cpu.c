#include <stdio.h>
#include <unistd.h>
int main() {
    for (int i = 0; i < 8; i++)
        if (!fork())
            for (;;) getppid();
    puts("42");
}
