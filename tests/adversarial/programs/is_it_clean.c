/* Tells what is in the slot beside itself: 2 processes, the harness's and its own, and nothing else when it is clean. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
static void list(const char *path) {
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && strcmp(entry->d_name, "prog") &&
            strcmp(entry->d_name, "snippet.c"))
            printf("%s/%s ", path, entry->d_name);
    if (folder) closedir(folder);
}
static int processes(void) {
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    int count = 0;
    while ((entry = readdir(folder))) count += entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
    return count;
}
static void table(const char *path) {
    FILE *file = fopen(path, "r");
    char line[1000];
    int count = -1;
    while (file && fgets(line, sizeof line, file)) count++;
    if (count > 0) printf("%s %d ", path, count);
}
int main() {
    list("/w"), list("/tmp"), list("/dev/shm"), list("/dev/mqueue"), list("/run/agnostics");
    table("/proc/sysvipc/shm"), table("/proc/sysvipc/sem"), table("/proc/sysvipc/msg");
    printf("%d", processes());
}
