/* Brainfuck: cells of 8 bits that wrap around, on a tape without end to the right. A step is a command. */

#include <string.h>

#include "common.h"
#include "trace.h"

static char *commands;
static size_t *offsets; /* of the commands in the source, for the trace */
static size_t *partner;
static size_t count;

static _Noreturn void unmatched(size_t command) {
    size_t offset = 0;
    for (;; offset++)
        if (source.text[offset] && strchr("<>+-.,[]", source.text[offset]) && command-- == 0)
            fail_at(offset, "'%c' without its partner", source.text[offset]);
}

/* Until its partner is met, an open bracket's `partner` is the one that was open before it. */
static void compile(void) {
    size_t open = SIZE_MAX;
    commands = allocate(source.length, 1);
    partner = allocate(source.length, sizeof *partner);
    offsets = allocate(trace_asked ? source.length : 0, sizeof *offsets);
    for (size_t i = 0; i < source.length; i++) {
        char command = (char)source.text[i];
        if (!command || !strchr("<>+-.,[]", command))
            continue;
        if (command == '[') {
            partner[count] = open;
            open = count;
        } else if (command == ']') {
            if (open == SIZE_MAX)
                fail_at(i, "']' without its partner");
            size_t start_of_loop = open;
            open = partner[start_of_loop];
            partner[start_of_loop] = count;
            partner[count] = start_of_loop;
        }
        if (trace_asked)
            offsets[count] = i;
        commands[count++] = command;
    }
    if (open != SIZE_MAX)
        unmatched(open);
}

static unsigned char read_cell(unsigned char cell) {
    int byte = get_byte();
    if (byte != NO_BYTE)
        return (unsigned char)byte;
    return dialect == BENCHMARK ? 0 : cell;
}

static void tell(size_t command, size_t cell, unsigned char value) {
    static const unsigned char *last;
    if (!trace_wanted())
        return;
    trace_text("%zu", cell);
    trace_variable(true, "pointer");
    if (last && (*last == '+' || *last == '-' || *last == ',')) {
        trace_text("%d", value);
        trace_variable(false, "cell %zu", cell);
    }
    last = &source.text[offsets[command]];
    trace_bytes(last, 1);
    trace_action();
    trace_line(line_of(offsets[command]));
}

INLINED void run(bool traced) {
    size_t size = 0, cell = 0;
    unsigned char *tape = grow(NULL, &size, 0, 1);
    for (size_t i = 0; i < count; i++) {
        if (traced && tracing)
            tell(i, cell, tape[cell]);
        step();
        switch (commands[i]) {
        case '>':
            if (++cell == size)
                tape = grow(tape, &size, size, 1);
            break;
        case '<':
            if (cell-- == 0)
                fail("the pointer moved below cell 0");
            break;
        case '+': tape[cell]++; break;
        case '-': tape[cell]--; break;
        case '.': put_byte(tape[cell]); break;
        case ',': tape[cell] = read_cell(tape[cell]); break;
        case '[':
            if (!tape[cell])
                i = partner[i];
            break;
        case ']':
            if (tape[cell])
                i = partner[i];
            break;
        }
    }
}

int main(int argc, char **argv) {
    start(argc, argv);
    compile();
    trace_start();
    if (tracing)
        run(true);
    else
        run(false);
    finish(0);
}
