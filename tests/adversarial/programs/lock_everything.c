/* Locks and leases on whatever it can open, and a neighbour of its own that holds them on. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>
int main() {
    int file = open("/tmp/mine", O_RDWR | O_CREAT, 0600);
    int files[] = {0, 1, 2, open("/w", O_RDONLY), open("/tmp", O_RDONLY), open("prog", O_RDONLY), file};
    struct flock whole = {F_WRLCK, SEEK_SET, 0, 0}, shared = {F_RDLCK, SEEK_SET, 0, 0};
    for (int i = 0; i < 7; i++) {
        flock(files[i], LOCK_EX | LOCK_NB);
        fcntl(files[i], F_SETLK, i ? &whole : &shared), fcntl(files[i], F_OFD_SETLK, i ? &whole : &shared);
        fcntl(files[i], F_SETLEASE, F_RDLCK), fcntl(files[i], F_SETLEASE, F_WRLCK);
        fcntl(files[i], F_NOTIFY, 0x3f);
    }
    if (!fork())
        for (;;) pause();
    puts("42");
}
