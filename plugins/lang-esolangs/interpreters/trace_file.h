/* The file of the trace: whole lines, up to a limit on their number and one on their bytes. */

#ifndef TRACE_FILE_H
#define TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Opens the file that AGN_TRACE names. */
void file_open(void);

/* The number in the environment, or `otherwise`. */
size_t trace_limit(const char *name, size_t otherwise);

void file_put(const char *ascii);
void file_put_json(const char *utf8, size_t size);

/* Ends the line of an event; false if a limit has ended the trace. */
bool file_end_event(void);

/* Writes the last line, and closes the file. */
void file_end(const char *reason);

#endif
