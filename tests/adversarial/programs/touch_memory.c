#include <stdlib.h>
#include <string.h>
int main() {
    for (;;) memset(malloc(1 << 20), 1, 1 << 20);
}
