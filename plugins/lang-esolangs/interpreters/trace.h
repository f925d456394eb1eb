/* The events of a program, written to the file that AGN_TRACE names, as docs/languages.md describes them.
 *
 * A text is put together by `trace_text` and `trace_bytes`, and then becomes a variable's value, the action of the next
 * event, or a returned value. Unless `tracing`, nothing else here may be called. */

#ifndef TRACE_H
#define TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True from `trace_start` to the end of the trace. */
extern bool tracing;

/* True if AGN_TRACE is set, from `trace_prepare` to `trace_start`. */
extern bool trace_asked;
void trace_prepare(void);

/* Begins the trace with the call of the program, after the source was read and found right. */
void trace_start(void);

/* Whether events of the scope that is open are written: it is not too deep. */
bool trace_wanted(void);

void trace_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Bytes as they are, where they are UTF-8; `trace_quoted` writes them between quotes, with escapes. */
void trace_bytes(const void *bytes, size_t count);
void trace_quoted(const void *bytes, size_t count);

/* Whether the text has room for more: the rest would be cut. */
bool trace_has_room(void);

/* Cuts the text here. */
void trace_cut(void);

/* Makes the text the value of a variable. One that is `local` is shown by every call, the others only once changed. */
void trace_variable(bool local, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Makes the text the action of the next event. */
void trace_action(void);

void trace_line(size_t line);
void trace_call(size_t line, const char *name);
void trace_return(size_t line); /* of the text */

/* The line of a place in the source, counted from 1, and `number` itself if the source has so many lines. */
size_t line_of(size_t offset);
size_t line_of_number(uint64_t number);

/* Ends the trace of a program that is none: it has no events. */
void trace_refuse(void);

/* What `common.c` tells: output that leaves its buffer, and the ends of the program. */
void trace_output(const unsigned char *bytes, size_t count);
void trace_failure(const char *message);
void trace_finish(int status);

#endif
