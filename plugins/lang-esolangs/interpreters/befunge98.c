/* Befunge-98. A step is a cell that the instruction pointer comes to, spaces and comments included. */

#include <stdio.h>

#include "befunge.h"
#include "trace.h"

#define DEEPEST_K 1000

struct point position, delta = {1, 0}, storage_offset;

static struct point torus; /* the size of the plane in the benchmark's dialect */
static bool in_string, after_space;
static int depth_of_k;

static void execute(int64_t instruction);

static int64_t floor_mod(int64_t a, int64_t b) {
    int64_t rest = b == -1 ? 0 : a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* Where `g` and `p` mean: on the torus of the benchmark's dialect, from the storage offset in the standard's. */
static struct point meant(struct point at) {
    if (dialect == STANDARD)
        return plus(at, storage_offset);
    return (struct point){floor_mod(at.x, torus.x), floor_mod(at.y, torus.y)};
}

/* Comes to the cell that lies `count` cells ahead. */
static void move(int64_t count) {
    if (dialect == BENCHMARK) {
        struct point way = {floor_mod(count, torus.x) * delta.x, floor_mod(count, torus.y) * delta.y};
        position = meant(plus(position, way));
        return;
    }
    position = plus(position, times(delta, count));
    while (!inside(position) && !space_wrap(&position, delta))
        step();
}

static int64_t next_cell(void) {
    move(1);
    step();
    return space_get(position);
}

static void go(int64_t x, int64_t y) { delta = (struct point){x, y}; }

static void turn_left(void) { delta = (struct point){delta.y, times(delta, -1).x}; }

static void turn_right(void) { delta = (struct point){times(delta, -1).y, delta.x}; }

/* The same way in every run, so that a program's verdict is the same too. */
static void go_anywhere(void) {
    static const struct point ways[] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    delta = ways[state >> 62];
}

static void compare(void) {
    int64_t b = pop(), a = pop();
    if (a < b)
        turn_left();
    else if (a > b)
        turn_right();
}


static _Noreturn void fail_here(const char *what) {
    fail("%s at (%lld, %lld)", what, (long long)position.x, (long long)position.y);
}

static void unknown(int64_t instruction) {
    char what[64];
    bool visible = instruction > ' ' && instruction <= '~';
    snprintf(what, sizeof what, visible ? "unknown instruction '%c'" : "unknown instruction %d", (int)instruction);
    fail_here(what);
}

/* Numbers have 64 bits: one that does not fit wraps around in the standard's dialect, and is an error in the other. */
static int64_t add(int64_t a, int64_t b) {
    int64_t result;
    if (__builtin_add_overflow(a, b, &result) && dialect == BENCHMARK)
        fail_here("number too large");
    return result;
}

static int64_t subtract(int64_t a, int64_t b) {
    int64_t result;
    if (__builtin_sub_overflow(a, b, &result) && dialect == BENCHMARK)
        fail_here("number too large");
    return result;
}

static int64_t multiply(int64_t a, int64_t b) {
    int64_t result;
    if (__builtin_mul_overflow(a, b, &result) && dialect == BENCHMARK)
        fail_here("number too large");
    return result;
}

static int64_t divide(int64_t a, int64_t b) {
    if (b == 0 && dialect == BENCHMARK)
        fail_here("division by zero");
    if (b == -1)
        return subtract(0, a);
    return b == 0 ? 0 : a / b;
}

static int64_t modulo(int64_t a, int64_t b) {
    if (b == 0 && dialect == BENCHMARK)
        fail_here("modulo by zero");
    if (b == 0 || b == -1)
        return 0;
    return dialect == BENCHMARK ? floor_mod(a, b) : a % b;
}

static void combine(int64_t instruction) {
    int64_t b = pop(), a = pop();
    switch (instruction) {
    case '+': push(add(a, b)); break;
    case '-': push(subtract(a, b)); break;
    case '*': push(multiply(a, b)); break;
    case '/': push(divide(a, b)); break;
    case '%': push(modulo(a, b)); break;
    case '`': push(a > b); break;
    }
}

/* The standard's `&` passes over all that is no digit; the benchmark's reads white space, a sign and digits, or 0. */
static void read_number(void) {
    int64_t value = 0;
    while (dialect == STANDARD && peek_byte() != NO_BYTE && (peek_byte() < '0' || peek_byte() > '9'))
        get_byte();
    if (get_integer(&value) || dialect == BENCHMARK)
        push(value);
    else
        reflect();
}

static void read_character(void) {
    int byte = get_byte();
    if (byte == NO_BYTE && dialect == STANDARD)
        reflect();
    else
        push(byte);
}

static void write_number(void) {
    put_integer(pop());
    put_byte(' ');
}

static void tell_cell(struct point at);

static void store(struct point at, int64_t value) {
    space_put(at, dialect == BENCHMARK ? value & 255 : value);
    if (tracing)
        tell_cell(at);
}

static void put_cell(void) {
    struct point at = meant(pop_point());
    store(at, pop());
}

static void store_next(void) {
    int64_t value = pop();
    move(1);
    store(position, value);
}

/* Passes over a comment, and stands on its last `;`. */
static void skip_comment(void) {
    while (next_cell() != ';')
        ;
}

/* The instruction ahead, where spaces and comments are none. */
static int64_t next_instruction(void) {
    int64_t cell = next_cell();
    for (; cell == ' ' || cell == ';'; cell = next_cell())
        if (cell == ';')
            skip_comment();
    return cell;
}

static void tell_direction(void) {
    static const char arrows[] = "^<.>v"; /* at x + 2y + 2 */
    int64_t x = delta.x, y = delta.y;
    if (x * x + y * y == 1)
        trace_text("%c", arrows[x + 2 * y + 2]);
    else
        trace_text("(%lld, %lld)", (long long)x, (long long)y);
    trace_variable(true, "direction");
}

/* The state before an instruction, or before a character of a string. */
static void tell_instruction(int64_t cell) {
    if (!trace_wanted())
        return;
    trace_text("(%lld, %lld)", (long long)position.x, (long long)position.y);
    trace_variable(true, "position");
    tell_direction();
    tell_stack();
    trace_text(in_string ? "true" : "false");
    trace_variable(true, "string");
    if (cell >= 0 && cell < 256)
        trace_bytes(&(unsigned char){(unsigned char)cell}, 1);
    else
        trace_text("%lld", (long long)cell);
    trace_action();
    trace_line(position.y < 0 ? 1 : line_of_number((uint64_t)position.y + 1));
}

static void tell_cell(struct point at) {
    trace_text("%lld", (long long)space_get(at));
    trace_variable(false, "cell (%lld, %lld)", (long long)at.x, (long long)at.y);
}

/* `k` does the next instruction as often as it pops, from where `k` stands; zero times is to pass over it. */
static void repeat(void) {
    int64_t count = pop();
    struct point here = position;
    int64_t instruction = next_instruction();
    if (count <= 0)
        return;
    position = here;
    if (++depth_of_k > DEEPEST_K)
        fail_here("'k' is nested too deeply");
    for (; count > 0; count--) {
        if (tracing)
            tell_instruction(instruction);
        step();
        execute(instruction);
    }
    depth_of_k--;
}

static void fingerprint(void) {
    for (int64_t count = pop(); count > 0; count--) {
        step();
        pop();
    }
    reflect();
}

static void execute_standard(int64_t instruction) {
    switch (instruction) {
    case '(': case ')': fingerprint(); break;
    case '{': begin_block(); break;
    case '}': end_block(); break;
    case 'k': repeat(); break;
    case 'u': stack_under_stack(); break;
    case 'w': compare(); break;
    case 'x': delta = pop_point(); break;
    case 'y': tell(); break;
    case 'z': break;
    default: reflect(); /* among them t, i, o and =, as y says */
    }
}

static void execute(int64_t instruction) {
    switch (instruction) {
    case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
        push(instruction - '0');
        break;
    case 'a': case 'b': case 'c': case 'd': case 'e': case 'f': push(instruction - 'a' + 10); break;
    case '+': case '-': case '*': case '/': case '%': case '`': combine(instruction); break;
    case '!': push(!pop()); break;
    case '>': go(1, 0); break;
    case '<': go(-1, 0); break;
    case '^': go(0, -1); break;
    case 'v': go(0, 1); break;
    case '?': go_anywhere(); break;
    case '[': turn_left(); break;
    case ']': turn_right(); break;
    case 'r': reflect(); break;
    case '_': go(pop() ? -1 : 1, 0); break;
    case '|': go(0, pop() ? -1 : 1); break;
    case '#': move(1); break;
    case 'j': move(pop()); break;
    case '"': in_string = true; after_space = false; break;
    case ':': duplicate(); break;
    case '\\': swap(); break;
    case '$': pop(); break;
    case 'n': clear_stack(); break;
    case '.': write_number(); break;
    case ',': put_byte((int)(pop() & 255)); break;
    case '&': read_number(); break;
    case '~': read_character(); break;
    case 'g': push(space_get(meant(pop_point()))); break;
    case 'p': put_cell(); break;
    case 's': store_next(); break;
    case '\'': move(1); push(space_get(position)); break;
    case '@': finish(0);
    case 'q': finish(dialect == STANDARD ? (int)(pop() & 255) : 0);
    default: dialect == STANDARD ? execute_standard(instruction) : unknown(instruction);
    }
}

/* In the standard's dialect a run of spaces in a string is one space. */
static void take_character(int64_t cell) {
    bool repeated = dialect == STANDARD && cell == ' ' && after_space;
    after_space = cell == ' ';
    if (cell == '"')
        in_string = false;
    else if (!repeated)
        push(cell);
}

INLINED void run(bool traced) {
    step();
    for (int64_t cell = space_get(position);; cell = next_cell()) {
        if (traced && tracing && (in_string || (cell != ';' && cell != ' ')))
            tell_instruction(cell);
        if (in_string)
            take_character(cell);
        else if (cell == ';')
            skip_comment();
        else if (cell != ' ')
            execute(cell);
    }
}

static void refuse_control_characters(void) {
    for (size_t i = 0; i < source.length; i++) {
        unsigned char byte = source.text[i];
        if (byte < ' ' && byte != '\t' && byte != '\n' && byte != '\r')
            fail_at(i, "control character %d", byte);
    }
}

int main(int argc, char **argv) {
    start(argc, argv);
    if (dialect == BENCHMARK)
        refuse_control_characters();
    space_load();
    torus = (struct point){greatest.x + 1, greatest.y + 1};
    trace_start();
    if (tracing)
        run(true);
    else
        run(false);
}
