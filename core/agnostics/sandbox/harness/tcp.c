/* The memory that the kernel holds in the slot's TCP connections. Not every kernel counts it in the slot's group, and there
 * is a limit on that of all connections of the machine, which one slot could reach. */
#include "harness.h"

#include <stdio.h>

enum { SOCKET_KB = 8, MAX_SOCKETS = 8192, TIME_WAIT = 6, LISTENS = 10 };

static const uint64_t too_much_kb = UINT64_C(1) << 40;

/* In KiB; more than any slot has if there are too many sockets to look at. Closed ones wait for a minute. */
uint64_t tcp_kb(void) {
    char line[256];
    unsigned state, sent, received, count = 0;
    uint64_t kb = 0;
    FILE *table = settings.loopback ? fopen("/proc/net/tcp", "re") : NULL;
    if (!table) return 0;
    while (fgets(line, sizeof line, table)) {
        if (sscanf(line, " %*u: %*s %*s %x %x:%x", &state, &sent, &received) != 3) continue;
        if (++count > MAX_SOCKETS) kb = too_much_kb;
        if (count > MAX_SOCKETS) break;
        if (state != TIME_WAIT) kb += SOCKET_KB;
        if (state != TIME_WAIT && state != LISTENS) kb += ((uint64_t)sent + received) >> 10;
    }
    fclose(table);
    return kb;
}
