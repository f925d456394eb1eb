/* What the files of the tracer share: the lines of the program, its scopes, and what changes in them. */
#ifndef TRACER_H
#define TRACER_H

#include "agn_trace.h"

/* --- source.c --- */

typedef struct {
    int count, marked;
    int *definitions; /* for each line, that of the `def` that its decorators belong to */
} Lines;

/* Counts the lines of the program, and finds the marker and the `def` below each decorator; false without memory. */
int read_lines(Lines *lines, const char *source, Py_ssize_t size);

/* --- locals.c --- */

/* One name of a scope: the text of its value when it was last looked at. */
typedef struct {
    PyObject *name; /* of a scope that is a dictionary */
    PyObject *held; /* the value, if it cannot change and is small */
    Buffer text;
    int present, seen;
} Slot;

typedef struct {
    PyFrameObject *frame;
    PyCodeObject *code;
    Slot *slots;
    int count, capacity; /* of the slots */
    int line;
} Scope;

/* What one event tells of the locals, as parts of its line. */
typedef struct {
    long max_value;
    Text text; /* of the value that is looked at */
    Buffer changed, gone, cut;
} Changes;

void start_text(Changes *changes);
void add_name(Buffer *buffer, PyObject *name);
void look_at_locals(Changes *changes, Scope *scope);
void reserve_slots(Scope *scope, int count);
int is_dictionary(const PyCodeObject *code);

#endif
