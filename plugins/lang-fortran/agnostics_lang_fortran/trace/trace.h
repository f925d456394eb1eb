/* The tracer of Fortran: a debugger inside of the program, which calls it at every procedure and line. It reads the debug
 * information of the program's own file, as gdb would, and needs no right to trace another process. */

#ifndef TRACE_H
#define TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- trace_dwarf.c: the entries of the debug information --- */

enum attribute {
    NAME, TYPE, LOCATION, BYTE_SIZE, ENCODING, LOWER, UPPER, COUNT, STRIDE, DATA, ALLOCATED, ASSOCIATED, STRING_LENGTH,
    LENGTH_SIZE, MEMBER, LOW_PC, HIGH_PC, DECL_LINE, LANGUAGE, MAIN, ATTRIBUTES,
};

enum kind { ABSENT, NUMBER, REFERENCE, TEXT, EXPRESSION };

struct value {
    enum kind kind;
    uint64_t number;      /* a constant, or the place of an entry */
    const uint8_t *bytes; /* a text, or an expression of `number` bytes */
};

struct entry {
    uint64_t place, children, tag; /* `children` is the place of the first, or of the next entry */
    bool has_children;
    struct value attributes[ATTRIBUTES];
};

/* A place where expressions are evaluated: the procedure's frame, and the object whose type asks. */
struct context {
    uint64_t frame, object;
};

bool debug_open(void);

/* Reads the entry at `place`; false at the end of a list of children. */
bool read_entry(uint64_t place, struct entry *entry);
uint64_t place_after(const struct entry *entry);
uint64_t first_unit(void);
uint64_t next_unit(uint64_t unit, uint64_t *first_entry);
bool is_fortran(const struct entry *unit);

/* The result of an expression, or the constant itself; false if it cannot be told. */
bool evaluate(const struct value *value, const struct context *context, uint64_t *result);

/* Memory of the program, which may not be there. */
bool read_memory(uint64_t address, void *to, size_t size);

extern uint64_t load_bias;

enum tag {
    TAG_ARRAY = 0x01, TAG_PARAMETER = 0x05, TAG_LEXICAL_BLOCK = 0x0b, TAG_MEMBER = 0x0d, TAG_POINTER = 0x0f,
    TAG_REFERENCE = 0x10, TAG_UNIT = 0x11, TAG_STRING = 0x12, TAG_STRUCTURE = 0x13, TAG_MODULE = 0x1e,
    TAG_SUBRANGE = 0x21, TAG_BASE = 0x24, TAG_PROCEDURE = 0x2e, TAG_VARIABLE = 0x34,
};

/* --- trace_program.c: the procedures and statements of the program --- */

struct variable {
    const char *name;
    uint64_t type;
    struct value location;
    uint64_t low, high; /* where it is in scope */
};

struct procedure {
    const char *name;
    uint64_t low, high, line;
    bool is_main, is_function;
    const char *result; /* the name of a function's result */
    struct variable *variables;
    size_t count;
};

void read_program(void);
const struct procedure *find_procedure(uint64_t address); /* NULL for any other than the program's */
bool is_statement(size_t line);

/* realloc that aborts without memory. */
void *trace_resize(void *block, size_t count, size_t size);

/* --- trace_values.c: texts --- */

struct text {
    char bytes[65536];
    size_t size, characters;
    bool cut, undefined, defined; /* whether a part of it was never stored, and whether one was */
};

extern size_t longest_value;

void text_clear(struct text *text);
void text_put(struct text *text, const char *ascii);
void text_bytes(struct text *text, const char *bytes, size_t count, bool quoted);

/* Adds the value of a variable at `address`; nothing is `defined` if nothing was ever stored there. */
void text_value(struct text *text, uint64_t type, uint64_t address, uint64_t frame);

/* --- trace_file.c: the file of the trace --- */

size_t trace_limit(const char *name, size_t otherwise);
bool file_open(void);
void file_put(const char *ascii);
void file_put_json(const char *utf8, size_t size);
bool file_end_event(void); /* false if a limit has ended the trace */
void file_end(const char *reason);

#endif
