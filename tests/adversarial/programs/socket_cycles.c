/* Sockets that hold each other, and files in memory, after every process has ended: only the kernel's garbage collector
 * finds them. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
static void pass(int to, int fd) {
    char byte = 'x', room[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec piece = {&byte, 1};
    struct msghdr message = {0, 0, &piece, 1, room, sizeof room, 0};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    sendmsg(to, &message, 0);
}
int main() {
    static char block[1 << 20];
    memset(block, 'x', sizeof block);
    for (int cycle = 0; cycle < 90; cycle++) {
        int pair[2], memory = memfd_create("x", 0);
        socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
        for (long place = 0; place < 5; place++) pwrite(memory, block, sizeof block, place << 20);
        pass(pair[0], memory), pass(pair[0], pair[0]), pass(pair[1], pair[1]), pass(pair[1], pair[0]);
    }
    puts("42");
}
