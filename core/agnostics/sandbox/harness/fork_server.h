/* Messages between the harness (fork_server.c) and an interpreter that it holds (preload/held.c). */
#ifndef FORK_SERVER_H
#define FORK_SERVER_H

#include <stdint.h>

#define HOLD_VARIABLE "AGNOSTICS_HOLD" /* the name of the file at whose first use the interpreter is held */

enum { HOLD_FD = 1000, REASON_BYTES = 160 }; /* the interpreter's end of the connection */

/* Fork for one test. It comes with the descriptors of stdin, stdout and stderr. */
struct fork_request {
    uint32_t uid, processes;
    uint64_t file_bytes, data_mb;
};

/* Of the held process: why it cannot be forked, if there is a reason. Of a fork: it is ready, or its errno. */
struct fork_reply {
    int32_t pid, error;
    char reason[REASON_BYTES];
};

#endif
