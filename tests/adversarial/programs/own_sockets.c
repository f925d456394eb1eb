#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
int main() {
    int pair[2];
    char byte = 0;
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    write(pair[0], "4", 1), read(pair[1], &byte, 1);
    putchar(byte);
}
