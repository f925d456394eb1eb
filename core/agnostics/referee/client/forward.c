/* A command with a Unix socket as a port of 127.0.0.1: for programs that know no Unix sockets. */
#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS = 64, CHUNK = 16 << 10, CONNECT_MS = 1000, LOOK_MS = 200, IDLE_S = 1800, CANNOT_START = 127 };

/* What goes one way: from `from` to the other end. */
struct flow {
    char data[CHUNK];
    size_t start, end;
    bool ended, told; /* nothing more comes; the other end knows */
};

struct pair {
    int fds[2]; /* the client's and the socket's; -1 if there is none */
    struct flow flows[2];
    time_t used;
};

static struct pair pairs[CONNECTIONS];

static time_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

static int listen_on(unsigned long port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on)) return -1;
    return bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, CONNECTIONS) ? -1 : fd;
}

static pid_t start(char **command) {
    pid_t child = fork();
    if (child) return child;
    execvp(command[0], command);
    fail_errno(command[0]);
    _exit(CANNOT_START);
}

static void drop(struct pair *pair) {
    close(pair->fds[0]), close(pair->fds[1]);
    pair->fds[0] = pair->fds[1] = -1;
}

static void accept_one(int listener, const char *path) {
    int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0) return;
    struct pair *pair = pairs;
    while (pair < pairs + CONNECTIONS && pair->fds[0] >= 0) pair++;
    int server = pair < pairs + CONNECTIONS ? connect_to(path, CONNECT_MS) : -1;
    if (server < 0) {
        close(client);
        return;
    }
    pair->fds[0] = client, pair->fds[1] = server;
    for (int side = 0; side < 2; side++) pair->flows[side].start = pair->flows[side].end = 0;
    for (int side = 0; side < 2; side++) pair->flows[side].ended = pair->flows[side].told = false;
    pair->used = now();
}

static short events_of(const struct pair *pair, int side) {
    const struct flow *in = &pair->flows[side], *out = &pair->flows[!side];
    return (short)((!in->ended && in->start == in->end ? POLLIN : 0) | (out->start < out->end ? POLLOUT : 0));
}

/* Returns whether the connection still stands. */
static bool read_into(struct flow *flow, int fd) {
    ssize_t got = recv(fd, flow->data, sizeof flow->data, 0);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    flow->start = 0, flow->end = (size_t)got;
    flow->ended = got == 0;
    return true;
}

static bool write_from(struct flow *flow, int fd) {
    if (flow->start < flow->end) {
        ssize_t sent = send(fd, flow->data + flow->start, flow->end - flow->start, MSG_NOSIGNAL);
        if (sent < 0) return errno == EAGAIN || errno == EINTR;
        flow->start += (size_t)sent;
    }
    if (flow->ended && flow->start == flow->end && !flow->told) {
        flow->told = true;
        shutdown(fd, SHUT_WR);
    }
    return true;
}

static void serve(struct pair *pair, const struct pollfd *ends) {
    bool stands = true;
    for (int side = 0; side < 2 && stands; side++) {
        struct flow *flow = &pair->flows[side];
        bool readable = ends[side].revents & (POLLIN | POLLHUP | POLLERR);
        if (ends[side].revents) pair->used = now();
        if (readable && !flow->ended && flow->start == flow->end) stands = read_into(flow, pair->fds[side]);
        if (stands) stands = write_from(flow, pair->fds[!side]);
    }
    bool done = pair->flows[0].told && pair->flows[1].told;
    if (!stands || done || now() - pair->used > IDLE_S) drop(pair);
}

/* Carry what there is to carry, for at most LOOK_MS. */
static void carry(int listener, const char *path) {
    struct pollfd ends[2 * CONNECTIONS + 1];
    for (int i = 0; i < CONNECTIONS; i++)
        for (int side = 0; side < 2; side++) {
            short events = pairs[i].fds[0] < 0 ? 0 : events_of(&pairs[i], side);
            /* a hang-up is told of unasked: with nothing to wait for, it would be told of without end */
            ends[2 * i + side] = (struct pollfd){events ? pairs[i].fds[side] : -1, events, 0};
        }
    ends[2 * CONNECTIONS] = (struct pollfd){listener, POLLIN, 0};
    if (poll(ends, 2 * CONNECTIONS + 1, LOOK_MS) < 0) return;
    for (int i = 0; i < CONNECTIONS; i++)
        if (pairs[i].fds[0] >= 0) serve(&pairs[i], &ends[2 * i]);
    if (ends[2 * CONNECTIONS].revents & POLLIN) accept_one(listener, path);
}

static void notice(int signal) { (void)signal; /* it ends the wait in `carry` */ }

int forward(int count, char **arguments) {
    char *end = NULL;
    unsigned long port = count > 0 ? strtoul(arguments[0], &end, 10) : 0;
    if (count < 4 || *end || port < 1 || port > 65535 || strcmp(arguments[2], "--"))
        return fail("forward", "expected PORT SOCKET -- COMMAND...");
    for (int i = 0; i < CONNECTIONS; i++) pairs[i].fds[0] = pairs[i].fds[1] = -1;
    int listener = listen_on(port), status = 0;
    if (listener < 0) return fail_errno("cannot listen on the port");
    struct sigaction ended = {.sa_handler = notice};
    sigaction(SIGCHLD, &ended, NULL);
    pid_t child = start(arguments + 3);
    if (child < 0) return fail_errno(arguments[3]);
    while (!waitpid(child, &status, WNOHANG)) carry(listener, arguments[1]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
