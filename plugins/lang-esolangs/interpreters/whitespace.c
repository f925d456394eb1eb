/* Whitespace 0.3, with numbers of any size. A step is an instruction, labels included. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "number.h"
#include "trace.h"

enum operation {
    PUSH, DUPLICATE, SWAP, DISCARD, COPY, SLIDE, ADD, SUBTRACT, MULTIPLY, DIVIDE, MODULO, STORE, RETRIEVE,
    PUT_CHARACTER, PUT_NUMBER, GET_CHARACTER, GET_NUMBER, LABEL, CALL, JUMP, JUMP_IF_ZERO, JUMP_IF_NEGATIVE, RETURN,
    END,
};

static const struct {
    const char *code;
    enum operation operation;
} codes[] = {
    {"  ", PUSH}, {" \n ", DUPLICATE}, {" \n\t", SWAP}, {" \n\n", DISCARD}, {" \t ", COPY}, {" \t\n", SLIDE},
    {"\t   ", ADD}, {"\t  \t", SUBTRACT}, {"\t  \n", MULTIPLY}, {"\t \t ", DIVIDE}, {"\t \t\t", MODULO},
    {"\t\t ", STORE}, {"\t\t\t", RETRIEVE},
    {"\t\n  ", PUT_CHARACTER}, {"\t\n \t", PUT_NUMBER}, {"\t\n\t ", GET_CHARACTER}, {"\t\n\t\t", GET_NUMBER},
    {"\n  ", LABEL}, {"\n \t", CALL}, {"\n \n", JUMP}, {"\n\t ", JUMP_IF_ZERO}, {"\n\t\t", JUMP_IF_NEGATIVE},
    {"\n\t\n", RETURN}, {"\n\n\n", END},
};

/* In the order of the operations, for the trace. */
static const char *const words[] = {
    "push", "duplicate", "swap", "discard", "copy", "slide", "add", "subtract", "multiply", "divide", "modulo", "store",
    "retrieve", "put character", "put number", "get character", "get number", "label", "call", "jump", "jump if zero",
    "jump if negative", "return", "end",
};

/* The name of a label: a piece of the program's signs. */
struct name {
    const char *signs;
    size_t length;
};

struct instruction {
    enum operation operation;
    number value;      /* of PUSH, COPY and SLIDE */
    struct name name;  /* of LABEL, and of what goes to one */
    size_t target;     /* what follows the label */
};

static char *signs; /* the source's spaces, tabs and line feeds */
static size_t sign_count, next_sign;

static struct instruction *program;
static size_t length, program_capacity;
static size_t *lines, line_capacity; /* of the instructions, for the trace */
static size_t *labels; /* indices of instructions, in the order of their names */
static size_t label_count;

static number *stack;
static size_t height, stack_capacity;
static size_t *returns;
static size_t depth, returns_capacity;

/* Open addressing; an address of 0, which is no number, marks a free place. */
static struct entry {
    number address, value;
} *heap;
static size_t places, entries;

static bool is_sign(unsigned char byte) { return byte == ' ' || byte == '\t' || byte == '\n'; }

static size_t offset_of(size_t sign) {
    size_t offset = 0;
    for (; offset < source.length; offset++)
        if (is_sign(source.text[offset]) && sign-- == 0)
            break;
    return offset;
}

static _Noreturn void refuse(size_t sign, const char *what) { fail_at(offset_of(sign), "%s", what); }

static void find_signs(void) {
    signs = allocate(source.length + 1, 1);
    for (size_t i = 0; i < source.length; i++)
        if (is_sign(source.text[i]))
            signs[sign_count++] = (char)source.text[i];
}

static enum operation parse_operation(void) {
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        size_t size = strlen(codes[i].code);
        if (strncmp(signs + next_sign, codes[i].code, size) == 0) {
            next_sign += size;
            return codes[i].operation;
        }
    }
    refuse(next_sign, "no instruction begins like this");
}

/* The signs up to the next line feed. */
static struct name parse_name(size_t instruction) {
    struct name name = {signs + next_sign, 0};
    const char *end = memchr(name.signs, '\n', sign_count - next_sign);
    if (!end)
        refuse(instruction, "the program ends within this instruction");
    name.length = (size_t)(end - name.signs);
    next_sign += name.length + 1;
    return name;
}

static number parse_number(size_t instruction) {
    struct name name = parse_name(instruction);
    if (name.length == 0)
        refuse(instruction, "a number without a sign");
    unsigned char *bits = allocate(name.length, 1);
    for (size_t i = 1; i < name.length; i++)
        bits[i - 1] = name.signs[i] == '\t';
    number value = number_from_digits(bits, name.length - 1, 2, name.signs[0] == '\t');
    free(bits);
    return value;
}

/* Every line feed is a sign, so the signs tell the line. */
static void note_line(size_t instruction, size_t sign) {
    static size_t line = 1, counted;
    size_t count = instruction;
    for (; counted < sign; counted++)
        line += signs[counted] == '\n';
    APPEND(lines, count, line_capacity, line);
}

static void parse(void) {
    while (next_sign < sign_count) {
        size_t start_of_instruction = next_sign;
        struct instruction instruction = {.operation = parse_operation()};
        if (instruction.operation == PUSH || instruction.operation == COPY || instruction.operation == SLIDE)
            instruction.value = parse_number(start_of_instruction);
        if (instruction.operation >= LABEL && instruction.operation <= JUMP_IF_NEGATIVE)
            instruction.name = parse_name(start_of_instruction);
        label_count += instruction.operation == LABEL;
        if (trace_asked)
            note_line(length, start_of_instruction);
        APPEND(program, length, program_capacity, instruction);
    }
}

static int compare_names(const struct name *a, const struct name *b) {
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    return memcmp(a->signs, b->signs, a->length);
}

static int compare_labels(const void *a, const void *b) {
    size_t left = *(const size_t *)a, right = *(const size_t *)b;
    int order = compare_names(&program[left].name, &program[right].name);
    return order ? order : left < right ? -1 : left > right;
}

/* The benchmark's labels must be unique; of the standard's, the first of a name counts. */
static void sort_labels(void) {
    labels = allocate(label_count, sizeof *labels);
    label_count = 0;
    for (size_t i = 0; i < length; i++)
        if (program[i].operation == LABEL)
            labels[label_count++] = i;
    qsort(labels, label_count, sizeof *labels, compare_labels);
    for (size_t i = 1; i < label_count && dialect == BENCHMARK; i++)
        if (compare_names(&program[labels[i - 1]].name, &program[labels[i]].name) == 0)
            refuse((size_t)(program[labels[i]].name.signs - signs), "this label is not the first of its name");
}

/* The first label of the name, or SIZE_MAX. */
static size_t find_label(const struct name *name) {
    size_t low = 0, high = label_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_names(&program[labels[middle]].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < label_count && compare_names(&program[labels[low]].name, name) == 0;
    return found ? labels[low] : SIZE_MAX;
}

/* The benchmark refuses a program that names a label which it has not; the standard, the jump to it. */
static void find_targets(void) {
    for (size_t i = 0; i < length; i++) {
        if (program[i].operation < CALL || program[i].operation > JUMP_IF_NEGATIVE)
            continue;
        program[i].target = find_label(&program[i].name);
        if (program[i].target == SIZE_MAX && dialect == BENCHMARK)
            refuse((size_t)(program[i].name.signs - signs), "there is no label of this name");
    }
}

static void push(number value) { APPEND(stack, height, stack_capacity, value); }

static number pop(void) {
    if (!height)
        fail("the stack is empty");
    return stack[--height];
}

static struct entry *find_entry(number address) {
    size_t place = number_hash(address) & (places - 1);
    while (heap[place].address && !number_equal(heap[place].address, address))
        place = (place + 1) & (places - 1);
    return &heap[place];
}

static void double_heap(void) {
    struct entry *old = heap;
    size_t count = places;
    places = places ? places * 2 : 64;
    heap = allocate(places, sizeof *heap);
    for (size_t i = 0; i < count; i++)
        if (old[i].address)
            *find_entry(old[i].address) = old[i];
    free(old);
}

static void tell_entry(number address, number value) {
    char name[32];
    int64_t fits;
    snprintf(name, sizeof name, number_fits(address, &fits) ? "%lld" : "of a large number", (long long)fits);
    number_trace(value);
    trace_variable(false, "heap %s", name);
}

/* Takes both numbers over. */
static void store(number address, number value) {
    if (__builtin_expect(tracing, false))
        tell_entry(address, value);
    if (entries * 2 >= places)
        double_heap();
    struct entry *entry = find_entry(address);
    if (entry->address) {
        number_drop(entry->value);
        number_drop(address);
    } else {
        entry->address = address;
        entries++;
    }
    entry->value = value;
}

static number retrieve(number address) {
    struct entry *entry = places ? find_entry(address) : NULL;
    if (entry && entry->address)
        return number_keep(entry->value);
    if (dialect == BENCHMARK)
        fail("nothing was stored at this address of the heap");
    return number_of(0);
}

static number divide(number a, number b) {
    return dialect == BENCHMARK ? number_truncate_divide(a, b) : number_floor_divide(a, b);
}

INLINED void combine(enum operation operation) {
    static number (*const functions[])(number, number) = {
        number_add, number_subtract, number_multiply, divide, number_modulo,
    };
    number b = pop(), a = pop();
    if ((operation == DIVIDE || operation == MODULO) && number_sign(b) == 0)
        fail("division by zero");
    push(functions[operation - ADD](a, b));
    number_drop(a);
    number_drop(b);
}

static void swap(void) {
    number b = pop(), a = pop();
    push(b);
    push(a);
}

static void copy(number distance) {
    int64_t n;
    if (!number_fits(distance, &n) || n < 0 || (uint64_t)n >= height)
        fail("copy reaches below the stack");
    push(number_keep(stack[height - 1 - (size_t)n]));
}

/* Drops `count` numbers below the top; in the standard's dialect all of them, if there are fewer. */
static void slide(number count) {
    int64_t n;
    number kept = pop();
    bool fits = number_fits(count, &n) && (n < 0 || (uint64_t)n <= height);
    if (dialect == BENCHMARK && (!fits || n < 0))
        fail("slide reaches below the stack");
    uint64_t dropped = number_sign(count) < 0 ? 0 : fits ? (uint64_t)n : height;
    charge(dropped / 8);
    while (dropped-- > 0)
        number_drop(pop());
    push(kept);
}

static void put_character(number value) {
    int64_t code;
    bool fits = number_fits(value, &code);
    if (dialect == STANDARD && (!fits || code < 0 || code > 255))
        fail("a character must be from 0 to 255");
    put_byte((int)(code & 255)); /* the last bits are right where the number does not fit, too */
    number_drop(value);
}

static bool is_blank(int byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

static void skip_blanks(bool over_lines) {
    while (is_blank(peek_byte()) && (over_lines || peek_byte() != '\n'))
        get_byte();
}

/* The benchmark reads a number wherever one stands next, or -1; the standard a line, which must be a number. */
static number read_number(void) {
    unsigned char *digits = NULL;
    size_t count = 0, capacity = 0;
    skip_blanks(dialect == BENCHMARK);
    bool negative = peek_byte() == '-';
    if (peek_byte() == '-' || (peek_byte() == '+' && dialect == BENCHMARK))
        get_byte();
    while (peek_byte() >= '0' && peek_byte() <= '9')
        APPEND(digits, count, capacity, (unsigned char)(get_byte() - '0'));
    if (dialect == STANDARD) {
        skip_blanks(false);
        int end = get_byte();
        if (!count || (end != '\n' && end != NO_BYTE))
            fail("this line of the input is no number");
    }
    number value = count ? number_from_digits(digits, count, 10, negative) : number_of(-1);
    free(digits);
    return value;
}

INLINED bool goes_on(enum operation operation) {
    if (operation != JUMP_IF_ZERO && operation != JUMP_IF_NEGATIVE)
        return true;
    number value = pop();
    int sign = number_sign(value);
    number_drop(value);
    return operation == JUMP_IF_ZERO ? sign == 0 : sign < 0;
}

INLINED size_t go_to(const struct instruction *instruction, size_t next) {
    if (!goes_on(instruction->operation))
        return next;
    if (instruction->target == SIZE_MAX)
        fail("there is no label of the name that is jumped to");
    if (instruction->operation == CALL)
        APPEND(returns, depth, returns_capacity, next);
    return instruction->target;
}

INLINED size_t go_back(void) {
    if (!depth)
        fail("return without a call");
    return returns[--depth];
}

INLINED void execute(const struct instruction *instruction) {
    number value;
    switch (instruction->operation) {
    case PUSH: push(number_keep(instruction->value)); break;
    case DUPLICATE:
        value = pop();
        push(value);
        push(number_keep(value));
        break;
    case SWAP: swap(); break;
    case DISCARD: number_drop(pop()); break;
    case COPY: copy(instruction->value); break;
    case SLIDE: slide(instruction->value); break;
    case STORE:
        value = pop();
        store(pop(), value);
        break;
    case RETRIEVE:
        value = pop();
        push(retrieve(value));
        number_drop(value);
        break;
    case PUT_CHARACTER: put_character(pop()); break;
    case PUT_NUMBER:
        value = pop();
        number_write(value);
        number_drop(value);
        break;
    case GET_CHARACTER: store(pop(), number_of(get_byte())); break;
    case GET_NUMBER: store(pop(), read_number()); break;
    default: combine(instruction->operation);
    }
}

/* A name in the letters of the reference. */
static void tell_name(const struct name *name) {
    for (size_t i = 0; i < name->length && trace_has_room(); i++)
        trace_text(name->signs[i] == ' ' ? "S" : "T");
}

static void tell_stack(void) {
    trace_text("[");
    for (size_t i = height; i > 0 && trace_has_room(); i--) {
        trace_text(i < height ? ", " : "");
        number_trace(stack[i - 1]);
    }
    trace_text("]");
    trace_variable(true, "stack");
}

static void tell_instruction(const struct instruction *instruction) {
    if (!trace_wanted())
        return;
    tell_stack();
    bool has_name = instruction->name.length > 0, has_value = instruction->value != 0;
    trace_text(has_name || has_value ? "%s " : "%s", words[instruction->operation]);
    if (has_value)
        number_trace(instruction->value);
    tell_name(&instruction->name);
    trace_action();
    trace_line(lines[instruction - program]);
}

/* Tells of a subroutine that was entered, named by its label, or left. */
static void tell_jump(const struct instruction *instruction, size_t next) {
    if (instruction->operation == CALL) {
        char name[64] = "";
        for (size_t i = 0; i < instruction->name.length && i + 1 < sizeof name; i++)
            name[i] = instruction->name.signs[i] == ' ' ? 'S' : 'T';
        tell_stack();
        trace_call(lines[next < length ? next : length - 1], name);
    } else if (instruction->operation == RETURN) {
        trace_return(lines[instruction - program]);
    }
}

INLINED void run(bool traced) {
    size_t i = 0;
    while (i < length) {
        const struct instruction *instruction = &program[i++];
        if (traced && tracing)
            tell_instruction(instruction);
        step();
        switch (instruction->operation) {
        case LABEL: break;
        case CALL: case JUMP: case JUMP_IF_ZERO: case JUMP_IF_NEGATIVE: i = go_to(instruction, i); break;
        case RETURN: i = go_back(); break;
        case END: return;
        default: execute(instruction);
        }
        if (traced && tracing)
            tell_jump(instruction, i);
    }
    if (dialect == STANDARD)
        fail("the program ran past its last instruction");
}

int main(int argc, char **argv) {
    start(argc, argv);
    find_signs();
    parse();
    sort_labels();
    find_targets();
    trace_start();
    if (tracing)
        run(true);
    else
        run(false);
    finish(0);
}
