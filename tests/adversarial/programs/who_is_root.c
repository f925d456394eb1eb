/* The user of the machine who is root here: the second number of the line that begins with 0. */
#include <stdio.h>
int main() {
    unsigned inside, outside, count;
    FILE *map = fopen("/proc/self/uid_map", "r");
    while (map && fscanf(map, "%u %u %u", &inside, &outside, &count) == 3)
        if (inside == 0) puts(outside ? "another" : "root");
}
