/* Locks the files named after the first word and watches them for a second ("hold"), or uses them meanwhile ("use"):
 * prints how many locks it did not get, and how many acts of the other it saw. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <unistd.h>
int main() {
    char role[8] = "", names[8][64], room[65536];
    int watch = inotify_init1(IN_NONBLOCK), refused = 0, seen = 0, count = 0;
    if (scanf("%7s", role) != 1) return 1;
    while (count < 8 && scanf("%63s", names[count]) == 1) count++;
    int holds = !strcmp(role, "hold");
    for (int round = 0; round < (holds ? 1 : 10); round++) {
        refused = 0;
        for (int i = 0; i < count; i++) {
            int fd = open(names[i], O_RDONLY);
            refused += flock(fd, LOCK_EX | LOCK_NB) != 0;
            if (!holds) close(fd);
        }
        if (!holds) usleep(50000);
    }
    for (int i = 0; i < count; i++) inotify_add_watch(watch, names[i], IN_OPEN | IN_ACCESS);
    if (holds) usleep(1000000);
    ssize_t size = read(watch, room, sizeof room);
    for (ssize_t at = 0; at < size; seen++) at += sizeof(struct inotify_event) + ((struct inotify_event *)(room + at))->len;
    printf("%d refused, %d seen\n", refused, seen);
}
