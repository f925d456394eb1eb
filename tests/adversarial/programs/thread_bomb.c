#include <pthread.h>
#include <unistd.h>
static void *wait_forever(void *nothing) {
    pause();
    return nothing;
}
int main() {
    pthread_t thread;
    for (;;) pthread_create(&thread, 0, wait_forever, 0);
}
