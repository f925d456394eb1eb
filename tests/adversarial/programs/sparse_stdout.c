/* Claims a terabyte of output with one byte. */
#include <signal.h>
#include <unistd.h>
int main() {
    signal(SIGXFSZ, SIG_IGN);
    ftruncate(1, 1L << 40);
    lseek(1, 1L << 40, SEEK_SET);
    write(1, "x", 1);
    return ftruncate(1, 5000001);
}
