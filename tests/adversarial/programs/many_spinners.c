/* Thirty processes that compute on, each in a session of its own: the scheduler gives every session the same share. */
#include <unistd.h>

int main(void) {
    for (int i = 0; i < 29; i++)
        if (fork() == 0) {
            setsid();
            break;
        }
    for (volatile unsigned long n = 0;; n++) {
    }
}
