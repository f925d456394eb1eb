#include <signal.h>
int main() {
    signal(SIGTERM, SIG_IGN), raise(SIGTERM);
    for (;;);
}
