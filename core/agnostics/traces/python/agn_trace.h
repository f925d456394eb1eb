/* The tracer of Python programs: what its files share. docs/traces.md describes what it writes. */
#ifndef AGN_TRACE_H
#define AGN_TRACE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x030E0000
#error "the tracer knows CPython 3.11 to 3.13"
#endif

/* A growing string of bytes. */
typedef struct {
    char *data;
    size_t size, capacity;
} Buffer;

void buffer_grow(Buffer *buffer, size_t more);

static inline void buffer_reserve(Buffer *buffer, size_t more)
{
    if (buffer->size + more > buffer->capacity)
        buffer_grow(buffer, more);
}

static inline void buffer_add(Buffer *buffer, const char *data, size_t size)
{
    buffer_reserve(buffer, size);
    memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
}

static inline void buffer_word(Buffer *buffer, const char *word)
{
    buffer_add(buffer, word, strlen(word));
}

void buffer_char(Buffer *buffer, Py_UCS4 character); /* as UTF-8 */
void buffer_number(Buffer *buffer, long long number);
void buffer_json(Buffer *buffer, const char *text, size_t size); /* as a JSON string in ASCII */

/* The text of one value: UTF-8, at most `limit` characters. */
typedef struct {
    Buffer text;
    size_t characters, limit;
    int cut;
    int depth;
    PyObject *open[40]; /* the containers around what is rendered */
} Text;

void render_value(Text *text, PyObject *value);
void render_exception(Text *text, PyObject *exception);
void render_name(Text *text, PyObject *name);
int is_plain(PyObject *value);

/* The file of the trace. */
int file_open(const char *path, size_t limit);
int file_add(const char *line, size_t size); /* false if it does not fit */
void file_end(const char *reason);

#endif
