/* The workspace, handed to the socket `workspace` at a submission: the key, a tar archive, and a mark that it is whole. */
#include "client.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { CONNECT_MS = 2000, SEND_MS = 10000, STORED_MS = 30000 };

static const char workspace[] = "/w", whole[] = "whole";

/* What `pack` writes goes to `fd`, and its complaints nowhere: the player has not asked for it. */
static bool pack_to(int fd) {
    int output = dup(1), errors = dup(2), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    bool packed = output >= 0 && errors >= 0 && dup2(fd, 1) >= 0 && dup2(nowhere, 2) >= 0 && pack(0, NULL) == OK;
    dup2(output, 1), dup2(errors, 2);
    close(output), close(errors), close(nowhere);
    return packed;
}

/* Leaves this process in the workspace. A submission does without it where nobody listens, or it cannot be packed. */
void keep(const char *key) {
    char path[4096], end;
    struct timeval timeout = {SEND_MS / 1000, 0};
    snprintf(path, sizeof path, "%s/workspace", folder());
    int fd = connect_to(path, CONNECT_MS);
    if (fd < 0) return;
    signal(SIGPIPE, SIG_IGN);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    bool sent = !fcntl(fd, F_SETFL, 0) && !chdir(workspace) && send_all(fd, key, strlen(key), SEND_MS) &&
                pack_to(fd) && send_all(fd, whole, strlen(whole), SEND_MS);
    if (sent && !shutdown(fd, SHUT_WR)) receive(fd, &end, sizeof end, STORED_MS);
    close(fd);
}
