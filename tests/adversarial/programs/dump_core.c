#include <stdlib.h>
#include <string.h>
int main() { memset(malloc(50 << 20), 1, 50 << 20), abort(); }
