/* The file of the trace: whole lines, up to a limit on their number and one on their bytes. */

#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WRITTEN_AT_ONCE 65536
#define END_BYTES 64 /* kept for the last line */

#define OWN_DESCRIPTOR 500 /* the program's own have low numbers, as without the trace */

static int file;
static char *lines;
static size_t used, capacity, line_start;
static size_t events, most_events, bytes, most_bytes;

size_t trace_limit(const char *name, size_t otherwise) {
    const char *word = getenv(name);
    size_t value = word ? strtoull(word, NULL, 10) : 0;
    return value ? value : otherwise;
}

bool file_open(void) {
    const char *name = getenv("AGN_TRACE");
    int opened = name ? open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    if (opened < 0)
        return false;
    file = fcntl(opened, F_DUPFD_CLOEXEC, OWN_DESCRIPTOR);
    if (file < 0)
        file = opened;
    else
        close(opened);
    most_events = trace_limit("AGN_TRACE_EVENTS", 100000);
    most_bytes = trace_limit("AGN_TRACE_BYTES", (size_t)16 << 20);
    return file >= 0;
}

static void put(const char *text, size_t size) {
    if (used + size > capacity) {
        capacity = 2 * (used + size);
        lines = realloc(lines, capacity);
        if (!lines)
            abort();
    }
    memcpy(lines + used, text, size);
    used += size;
}

void file_put(const char *ascii) { put(ascii, strlen(ascii)); }

/* The code point at `*text`, which is UTF-8. */
static uint32_t next_code_point(const unsigned char **text) {
    const unsigned char *from = *text;
    size_t more = from[0] < 0xE0 ? 1 : from[0] < 0xF0 ? 2 : 3;
    uint32_t code = from[0] & (0x3Fu >> more);
    for (size_t i = 1; i <= more; i++)
        code = code << 6 | (from[i] & 0x3Fu);
    *text += more + 1;
    return code;
}

static void put_unicode(uint32_t code) {
    char escape[16];
    if (code < 0x10000)
        snprintf(escape, sizeof escape, "\\u%04x", code);
    else
        snprintf(escape, sizeof escape, "\\u%04x\\u%04x", 0xD7C0 + (code >> 10), 0xDC00 + (code & 0x3FF));
    file_put(escape);
}

void file_put_json(const char *utf8, size_t size) {
    const unsigned char *from = (const unsigned char *)utf8, *end = from + size;
    put("\"", 1);
    while (from < end) {
        if (*from >= 0x80) {
            put_unicode(next_code_point(&from));
            continue;
        }
        if (*from < ' ' || *from == 0x7F)
            put_unicode(*from);
        else if (*from == '"' || *from == '\\')
            put((char[]){'\\', (char)*from}, 2);
        else
            put((const char *)from, 1);
        from++;
    }
    put("\"", 1);
}

static void write_lines(void) {
    size_t done = 0;
    while (done < used) {
        ssize_t count = write(file, lines + done, used - done);
        if (count < 0 && errno != EINTR)
            break; /* no room: the trace ends here, and not the program */
        done += count > 0 ? (size_t)count : 0;
    }
    used = line_start = 0;
}

bool file_end_event(void) {
    const char *reason = events == most_events ? "events" : NULL;
    put("\n", 1);
    size_t size = used - line_start;
    if (!reason && bytes + size + END_BYTES > most_bytes)
        reason = "bytes";
    if (reason) {
        used = line_start;
        file_end(reason);
        return false;
    }
    events++;
    bytes += size;
    line_start = used;
    if (used >= WRITTEN_AT_ONCE)
        write_lines();
    return true;
}

void file_end(const char *reason) {
    file_put("{\"end\":\"");
    file_put(reason);
    file_put("\"}\n");
    write_lines();
    close(file);
}
