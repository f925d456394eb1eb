/* One operation: a frame to the referee, and its reply. Sizes are big-endian (wire.py). */
#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_REQUEST = 4 << 20, SEND_MS = 30000, REPLY_MS = 900000, KEY_SIZE = 64 };

static struct {
    uint32_t size;
    char data[MAX_REQUEST];
} frame;
static size_t length;
static bool has_room = true;

/* Room for a field of at most `size` bytes, whose size is set by `end_field`. */
static char *begin_field(size_t size) {
    has_room = has_room && size <= MAX_REQUEST - sizeof(uint32_t) && length <= MAX_REQUEST - sizeof(uint32_t) - size;
    return frame.data + length + sizeof(uint32_t);
}

static void end_field(size_t size) {
    uint32_t word = htonl((uint32_t)size);
    memcpy(frame.data + length, &word, sizeof word);
    length += sizeof word + size;
}

static bool put_text(const char *text) {
    size_t size = strlen(text);
    char *field = begin_field(size);
    if (!has_room) return false;
    memcpy(field, text, size);
    end_field(size);
    return true;
}

static bool put_file(const char *path) {
    char *field = begin_field(0);
    ssize_t size = has_room ? read_whole(path, field, MAX_REQUEST - sizeof(uint32_t) - length) : -1;
    if (size < 0) return false;
    end_field((size_t)size);
    return true;
}

static char key[KEY_SIZE];

static bool put_key(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s/key", folder());
    ssize_t size = read_whole(path, key, sizeof key - 1);
    if (size < 0) return false;
    key[size] = 0;
    key[strcspn(key, "\n")] = 0;
    return put_text(key);
}

static int complain(const char *path) {
    if (!has_room || errno == EFBIG) return fail(path, "more than 4 MiB are no request");
    return fail_errno(path);
}

/* The program's file, then its input: the value of one of two options, or nothing. */
static int put_run(int count, char **arguments) {
    bool is_text = count == 3 && !strcmp(arguments[1], "--input");
    bool is_file = count == 3 && !strcmp(arguments[1], "--input-file");
    if (count != 1 && !is_text && !is_file) return fail("run", "expected FILE [--input TEXT | --input-file FILE]");
    if (!put_file(arguments[0])) return complain(arguments[0]);
    if (is_file) return put_file(arguments[2]) ? OK : complain(arguments[2]);
    return put_text(is_text ? arguments[2] : "") ? OK : complain("the input");
}

static int put_arguments(const char *operation, int count, char **arguments) {
    if (!strcmp(operation, "run")) return put_run(count, arguments);
    if (!strcmp(operation, "submit")) {
        if (count != 2) return fail("submit", "expected PROBLEM FILE");
        if (!put_text(arguments[0])) return complain(arguments[0]);
        return put_file(arguments[1]) ? OK : complain(arguments[1]);
    }
    return count ? fail(operation, "takes no arguments; see session --help") : OK;
}

/* Print the reply as it comes: on standard output if the operation was carried out. */
static int print_reply(int fd) {
    unsigned char head[5];
    char text[1 << 14];
    if (receive(fd, head, sizeof head, REPLY_MS) != sizeof head) return fail("the referee", "sent no reply");
    uint32_t left = (uint32_t)head[1] << 24 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 8 | head[4];
    int out = head[0] == OK ? 1 : 2;
    char last = '\n';
    while (left) {
        ssize_t got = receive(fd, text, left < sizeof text ? left : sizeof text, SEND_MS);
        if (got <= 0 || !write_all(out, text, (size_t)got)) return fail("the reply", "ended too soon");
        last = text[got - 1];
        left -= (uint32_t)got;
    }
    if (last != '\n') write_all(out, "\n", 1);
    return head[0];
}

int request(const char *operation, int count, char **arguments) {
    bool as_json = false;
    int kept = 0;
    for (int i = 0; i < count; i++) {
        bool is_value = i > 0 && !strncmp(arguments[i - 1], "--input", 7);
        if (!is_value && !strcmp(arguments[i], "--json")) as_json = true;
        else arguments[kept++] = arguments[i];
    }
    if (!put_key()) return fail_errno("the key of the session");
    if (!put_text(operation)) return complain("the operation");
    int status = put_arguments(operation, kept, arguments);
    if (status != OK) return status;
    if (as_json && !put_text("json")) return complain("the request");
    if (!strcmp(operation, "submit")) keep(key);
    char path[4096];
    snprintf(path, sizeof path, "%s/referee", folder());
    int fd = connect_to(path, SEND_MS);
    if (fd < 0) return fail_errno("the referee does not answer");
    frame.size = htonl((uint32_t)length);
    /* A request that is refused before it was read whole has a reply too. */
    bool sent = send_all(fd, &frame, sizeof frame.size + length, SEND_MS);
    if (!sent && errno != EPIPE && errno != ECONNRESET) return fail_errno("the request");
    status = print_reply(fd);
    close(fd);
    return status;
}
