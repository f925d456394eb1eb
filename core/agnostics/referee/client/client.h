/* The client in the box: it carries operations to the referee, connections to sockets, and files of the workspace. It has
 * no privileges and decides nothing: whatever takes its place can do no more than what the referee allows. */
#ifndef CLIENT_H
#define CLIENT_H

#define _GNU_SOURCE
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { OK, REFUSED, FAILED };

/* main.c */
const char *folder(void);
int fail(const char *subject, const char *reason);
int fail_errno(const char *subject);

/* io.c: everything that waits has a timeout in milliseconds. */
int connect_to(const char *path, int timeout_ms);
bool send_all(int fd, const void *data, size_t size, int timeout_ms);
ssize_t receive(int fd, void *data, size_t size, int timeout_ms);
bool write_all(int fd, const void *data, size_t size);
ssize_t read_whole(const char *path, char *data, size_t size);

/* request.c */
int request(const char *operation, int count, char **arguments);

/* forward.c */
int forward(int count, char **arguments);

/* keep.c */
void keep(const char *key);

/* files.c */
int read_file(int count, char **arguments);
int pack(int count, char **arguments);
int unpack(int count, char **arguments);

#endif
