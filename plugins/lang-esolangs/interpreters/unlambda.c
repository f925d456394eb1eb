/* Unlambda 2.0: a machine with its continuations on a heap of its own, which a copying collector keeps small.
 * A step is an expression that is evaluated, a value that is returned or a function that is applied. */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "trace.h"

/* A word: three bits say what it is, the others which. */
typedef uint32_t word;

enum kind {
    ATOM,       /* a built-in function: its letter, and 256 times the character of `.x` and `?x` */
    EXPRESSION, /* an application in the source: an index into `applications` */
    CELL,       /* on the heap: an index into `cells` */
};

static enum kind kind_of(word w) { return w & 7; }

static size_t index_of(word w) { return w >> 3; }

static word make(enum kind kind, size_t index) { return (word)(index << 3 | kind); }

#define MOST_CELLS ((size_t)1 << 29)
#define FIRST_CELLS 32768

enum tag {
    MOVED,                                                   /* collected: `a` says where to */
    K1, S1, S2, CONTINUATION,                                /* functions with what they were given so far */
    PROMISE_OF_EXPRESSION, PROMISE_OF_APPLICATION, PROMISE_OF_VALUE, /* `d` with what it holds back */
    EVALUATE_OPERAND, APPLY_TO_RESULT, APPLY_RESULT_TO, APPLY_UNLESS_D, /* frames of a continuation */
};

struct cell {
    enum tag tag;
    word a, b, next;
};

struct application {
    word function, operand;
};

#define LAST_FRAME make(ATOM, 0)

static struct application *applications;
static size_t application_count, application_capacity;
static size_t *offsets, offset_capacity; /* of the applications in the source, for the trace */

static struct cell *cells;
static size_t cell_count, cell_capacity;

/* The machine's registers, which the collector starts from. */
static word function, argument, frame;
static int current_character = NO_BYTE;
static bool has_read; /* a character, or the end of the input */

/* --- the heap --- */

static word atom(int letter, int character) { return make(ATOM, (size_t)letter | (size_t)character << 8); }

static int letter_of(word w) { return (int)(index_of(w) & 255); }

static int character_of(word w) { return (int)(index_of(w) >> 8); }

static word move(struct cell *to, size_t *count, word w) {
    if (kind_of(w) != CELL)
        return w;
    struct cell *cell = &cells[index_of(w)];
    if (cell->tag != MOVED) {
        to[*count] = *cell;
        *cell = (struct cell){MOVED, make(CELL, (*count)++), 0, 0};
    }
    return cell->a;
}

/* Cheney's collector: what was copied, and not looked through yet, is the queue of what is left to do. */
static void collect(void) {
    size_t count = 0;
    struct cell *to = malloc(cell_count * sizeof *to + 1);
    if (!to)
        fail("out of memory");
    function = move(to, &count, function);
    argument = move(to, &count, argument);
    frame = move(to, &count, frame);
    for (size_t i = 0; i < count; i++) {
        to[i].a = move(to, &count, to[i].a);
        to[i].b = move(to, &count, to[i].b);
        to[i].next = move(to, &count, to[i].next);
    }
    free(cells);
    cells = to;
    cell_count = count;
}

/* Room for four times what is in use: a collection then costs less than what was made since the last. */
static void make_room(void) {
    collect();
    cell_capacity = cell_count > FIRST_CELLS / 4 ? cell_count * 4 : FIRST_CELLS;
    if (cell_capacity > MOST_CELLS)
        fail("out of memory");
    struct cell *larger = realloc(cells, cell_capacity * sizeof *cells);
    if (!larger)
        fail("out of memory");
    cells = larger;
}

/* A turn of the machine makes two cells at most; between turns the registers hold all that is in use. */
static word new_cell(enum tag tag, word a, word b, word next) {
    cells[cell_count] = (struct cell){tag, a, b, next};
    return make(CELL, cell_count++);
}

static void push_frame(enum tag tag, word a, word b) { frame = new_cell(tag, a, b, frame); }

/* --- the parser --- */

static word parse_atom(size_t *offset) {
    int letter = tolower(source.text[*offset]);
    if (letter == '.' || letter == '?') {
        if (++*offset == source.length)
            fail_at(*offset - 1, "'%c' without a character", letter);
        return atom(letter, source.text[*offset]);
    }
    if (letter == 'r')
        return atom('.', '\n');
    if (!letter || !strchr("skivcde@|", letter))
        fail_at(*offset, "unknown function '%c'", letter >= ' ' && letter <= '~' ? letter : '?');
    return atom(letter, 0);
}

static bool is_blank(size_t *offset) {
    const unsigned char *text = source.text + *offset;
    if (*text == '#')
        while (*offset + 1 < source.length && source.text[*offset] != '\n')
            ++*offset;
    return *text == ' ' || (*text >= '\t' && *text <= '\r') || *text == '#';
}

/* An application is open until both its parts are there; `operand` is 0 until then, which no expression is. */
static word parse(void) {
    word *open = NULL, result = 0;
    size_t open_count = 0, open_capacity = 0;
    if (source.length >= MOST_CELLS)
        fail("the program is too long");
    for (size_t i = 0; i < source.length; i++) {
        if (is_blank(&i))
            continue;
        if (result)
            fail_at(i, "the program has ended here");
        if (source.text[i] == '`') {
            size_t count = application_count;
            if (trace_asked)
                APPEND(offsets, count, offset_capacity, i);
            APPEND(open, open_count, open_capacity, make(EXPRESSION, application_count));
            APPEND(applications, application_count, application_capacity, ((struct application){0}));
            continue;
        }
        word part = parse_atom(&i);
        for (; open_count; part = open[--open_count]) {
            struct application *innermost = &applications[index_of(open[open_count - 1])];
            if (!innermost->function) {
                innermost->function = part;
                break;
            }
            innermost->operand = part;
        }
        result = open_count ? 0 : part;
    }
    if (!result)
        fail_at(source.length, "the program ends before its expression does");
    free(open);
    return result;
}

/* --- the machine: each turn does one of these and says what comes next --- */

enum turn { EVALUATE, RETURN, APPLY };

/* `argument` is the expression. */
INLINED enum turn evaluate(void) {
    if (kind_of(argument) != EXPRESSION)
        return RETURN;
    const struct application *application = &applications[index_of(argument)];
    push_frame(EVALUATE_OPERAND, application->operand, 0);
    argument = application->function;
    return EVALUATE;
}

static enum turn apply(word new_function, word new_argument) {
    function = new_function;
    argument = new_argument;
    return APPLY;
}

static enum turn answer(word value) {
    argument = value;
    return RETURN;
}

static bool is_d(word w) { return w == atom('d', 0); }

/* `argument` is the value, and goes to the topmost frame. */
INLINED enum turn give_back(void) {
    if (frame == LAST_FRAME)
        finish(0);
    struct cell top = cells[index_of(frame)];
    frame = top.next;
    switch (top.tag) {
    case EVALUATE_OPERAND:
        if (is_d(argument))
            return answer(new_cell(PROMISE_OF_EXPRESSION, top.a, 0, 0));
        push_frame(APPLY_TO_RESULT, argument, 0);
        argument = top.a;
        return EVALUATE;
    case APPLY_TO_RESULT: return apply(top.a, argument);
    case APPLY_RESULT_TO: return apply(argument, top.a);
    default: /* APPLY_UNLESS_D: the value is that of `xz, and `yz is still to come */
        if (is_d(argument))
            return answer(new_cell(PROMISE_OF_APPLICATION, top.a, top.b, 0));
        push_frame(APPLY_TO_RESULT, argument, 0);
        return apply(top.a, top.b);
    }
}

INLINED enum turn apply_cell(struct cell cell) {
    switch (cell.tag) {
    case K1: return answer(cell.a);
    case S1: return answer(new_cell(S2, cell.a, argument, 0));
    case S2:
        push_frame(APPLY_UNLESS_D, cell.b, argument);
        return apply(cell.a, argument);
    case CONTINUATION:
        frame = cell.a;
        return RETURN;
    case PROMISE_OF_EXPRESSION:
        push_frame(APPLY_RESULT_TO, argument, 0);
        argument = cell.a;
        return EVALUATE;
    case PROMISE_OF_APPLICATION:
        push_frame(APPLY_RESULT_TO, argument, 0);
        return apply(cell.a, cell.b);
    default: return apply(cell.a, argument); /* PROMISE_OF_VALUE */
    }
}

static enum turn apply_to(word value) { return apply(argument, value); }

static enum turn apply_to_choice(bool choice) { return apply_to(atom(choice ? 'i' : 'v', 0)); }

INLINED enum turn apply_atom(word f) {
    switch (letter_of(f)) {
    case 's': return answer(new_cell(S1, argument, 0, 0));
    case 'k': return answer(new_cell(K1, argument, 0, 0));
    case 'i': return RETURN;
    case 'v': return answer(f);
    case 'c': return apply_to(new_cell(CONTINUATION, frame, 0, 0));
    case 'd': return answer(new_cell(PROMISE_OF_VALUE, argument, 0, 0));
    case 'e': finish(0);
    case '.':
        put_byte(character_of(f));
        return RETURN;
    case '@':
        current_character = get_byte();
        has_read = true;
        return apply_to_choice(current_character != NO_BYTE);
    case '?': return apply_to_choice(current_character == character_of(f));
    default: /* | */
        return apply_to(current_character == NO_BYTE ? atom('v', 0) : atom('.', current_character));
    }
}

/* --- the trace: an event for each application, in the notation of the language --- */

#define DEEPEST_TEXT 200

static size_t last_application; /* that was evaluated */

static void tell_word(word w, int depth);

static void tell_atom(word w) {
    unsigned char letter = (unsigned char)letter_of(w), character = (unsigned char)character_of(w);
    if (w == atom('.', '\n'))
        letter = 'r';
    trace_bytes(&letter, 1);
    if (letter == '.' || letter == '?')
        trace_bytes(&character, 1);
}

static void tell_pair(const char *prefix, word a, word b, int depth) {
    trace_text("%s", prefix);
    tell_word(a, depth + 1);
    tell_word(b, depth + 1);
}

static void tell_cell(const struct cell *cell, int depth) {
    switch (cell->tag) {
    case K1: case S1: case PROMISE_OF_EXPRESSION: case PROMISE_OF_VALUE:
        trace_text(cell->tag == K1 ? "`k" : cell->tag == S1 ? "`s" : "`d");
        tell_word(cell->a, depth + 1);
        break;
    case S2: tell_pair("``s", cell->a, cell->b, depth); break;
    case PROMISE_OF_APPLICATION: tell_pair("`d`", cell->a, cell->b, depth); break;
    default: trace_text("<continuation>");
    }
}

/* A value or an expression. One that is nested too deeply is not told to its end. */
static void tell_word(word w, int depth) {
    if (!trace_has_room())
        return;
    if (depth > DEEPEST_TEXT) {
        trace_cut();
    } else if (kind_of(w) == ATOM) {
        tell_atom(w);
    } else if (kind_of(w) == CELL) {
        tell_cell(&cells[index_of(w)], depth);
    } else {
        const struct application *application = &applications[index_of(w)];
        tell_pair("`", application->function, application->operand, depth);
    }
}

/* What is done with the value of the application, the next first; `_` stands for the value. */
static void tell_continuation(void) {
    trace_text("[");
    for (word w = frame; w != LAST_FRAME && trace_has_room(); w = cells[index_of(w)].next) {
        const struct cell *cell = &cells[index_of(w)];
        bool is_operand = cell->tag == APPLY_TO_RESULT;
        trace_text(w == frame ? "`" : ", `");
        if (!is_operand)
            trace_text("_");
        if (cell->tag == APPLY_UNLESS_D)
            tell_pair("`", cell->a, cell->b, 0);
        else
            tell_word(cell->a, 0);
        if (is_operand)
            trace_text("_");
    }
    trace_text("]");
    trace_variable(true, "continuation");
}

static void tell_application(void) {
    if (!trace_wanted())
        return;
    tell_continuation();
    if (current_character != NO_BYTE) {
        trace_quoted(&(unsigned char){(unsigned char)current_character}, 1);
        trace_variable(true, "character");
    } else if (has_read) {
        trace_text("none");
        trace_variable(true, "character");
    }
    tell_pair("`", function, argument, 0);
    trace_action();
    trace_line(line_of(application_count ? offsets[last_application] : 0));
}

static void tell(enum turn turn) {
    if (turn == APPLY)
        tell_application();
    else if (turn == EVALUATE && kind_of(argument) == EXPRESSION)
        last_application = index_of(argument);
}

INLINED _Noreturn void run(word program, bool traced) {
    enum turn turn = EVALUATE;
    argument = program;
    frame = LAST_FRAME;
    for (;;) {
        if (traced && tracing)
            tell(turn);
        step();
        if (cell_count + 2 > cell_capacity)
            make_room();
        if (turn == EVALUATE)
            turn = evaluate();
        else if (turn == RETURN)
            turn = give_back();
        else
            turn = kind_of(function) == CELL ? apply_cell(cells[index_of(function)]) : apply_atom(function);
    }
}

int main(int argc, char **argv) {
    start(argc, argv);
    word program = parse();
    trace_start();
    if (tracing)
        run(program, true);
    else
        run(program, false);
}
