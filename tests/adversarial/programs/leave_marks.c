#include <fcntl.h>
#include <stdio.h>
int main() {
    if (open("/w/mark", O_RDONLY) >= 0 || open("/tmp/mark", O_RDONLY) >= 0) puts("left over");
    creat("/w/mark", 0600), creat("/tmp/mark", 0600);
    puts("42");
}
