/* Many threads, through whose entries in /proc the harness goes while the program grows. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *wait_for_the_end(void *unused) {
    pause();
    return unused;
}
int main() {
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 16 << 10);
    for (int i = 0; i < 900; i++) pthread_create(&thread, &small, wait_for_the_end, 0);
    for (;;) memset(malloc(1 << 16), 1, 1 << 16);
}
