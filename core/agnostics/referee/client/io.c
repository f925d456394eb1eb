/* Reading, writing and connecting, with a timeout for everything that waits. */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Whether `fd` is ready for `events` in time. A signal begins the wait again: nothing here expects any. */
static bool await(int fd, short events, int timeout_ms) {
    struct pollfd one = {fd, events, 0};
    int ready;
    while ((ready = poll(&one, 1, timeout_ms)) < 0 && errno == EINTR) {
    }
    if (!ready) errno = ETIMEDOUT;
    return ready > 0;
}

/* A connection to the Unix socket at `path` that does not block; -1 if there is none. A full queue is tried again. */
int connect_to(const char *path, int timeout_ms) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    for (int waited_ms = 0; connect(fd, (struct sockaddr *)&address, sizeof address); waited_ms += 20) {
        if (errno != EAGAIN || waited_ms >= timeout_ms) {
            int error = errno;
            close(fd);
            errno = error;
            return -1;
        }
        poll(NULL, 0, 20);
    }
    return fd;
}

bool send_all(int fd, const void *data, size_t size, int timeout_ms) {
    for (const char *at = data; size;) {
        ssize_t sent = send(fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EAGAIN && await(fd, POLLOUT, timeout_ms)) continue;
        if (sent < 0) return false;
        at += sent, size -= (size_t)sent;
    }
    return true;
}

/* The bytes received, fewer than `size` only at the end of the connection; -1 for an error. */
ssize_t receive(int fd, void *data, size_t size, int timeout_ms) {
    size_t got = 0;
    while (got < size) {
        ssize_t more = recv(fd, (char *)data + got, size - got, MSG_DONTWAIT);
        if (more < 0 && errno == EAGAIN && await(fd, POLLIN, timeout_ms)) continue;
        if (more < 0) return -1;
        if (!more) break;
        got += (size_t)more;
    }
    return (ssize_t)got;
}

bool write_all(int fd, const void *data, size_t size) {
    for (const char *at = data; size;) {
        ssize_t written = write(fd, at, size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        at += written, size -= (size_t)written;
    }
    return true;
}

/* The size of a file, read into `data`; -1 if it cannot be read or is larger than `size` (EFBIG). A pipe at which nobody
 * writes has nothing. */
ssize_t read_whole(const char *path, char *data, size_t size) {
    size_t got = 0;
    ssize_t more = 0;
    int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : dup(0);
    if (fd < 0) return -1;
    while (got < size && (more = read(fd, data + got, size - got)) > 0) got += (size_t)more;
    char beyond;
    bool larger = more >= 0 && got == size && read(fd, &beyond, 1) > 0;
    int error = larger ? EFBIG : more < 0 && errno != EAGAIN ? errno : 0;
    close(fd);
    errno = error;
    return error ? -1 : (ssize_t)got;
}
