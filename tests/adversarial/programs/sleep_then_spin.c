#include <unistd.h>
int main() {
    usleep(300000);
    for (;;);
}
