#include <unistd.h>
int main() {
    fork(), fork(), fork();
    for (;;);
}
