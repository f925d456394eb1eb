/* The stack of stacks of Befunge-98, and `y`, which tells of it and of everything else. */

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "befunge.h"
#include "trace.h"

struct stack {
    int64_t *items;
    size_t size, capacity;
};

static struct stack bottom;
static struct stack *stacks = &bottom;
static size_t stack_count = 1, stack_capacity;

static struct stack *top(void) { return &stacks[stack_count - 1]; }

static struct stack *second(void) { return &stacks[stack_count - 2]; }

static void push_on(struct stack *stack, int64_t value) { APPEND(stack->items, stack->size, stack->capacity, value); }

static int64_t pop_from(struct stack *stack) {
    if (stack->size)
        return stack->items[--stack->size];
    if (dialect == BENCHMARK)
        fail("the stack is empty at (%lld, %lld)", (long long)position.x, (long long)position.y);
    return 0;
}

void push(int64_t value) { push_on(top(), value); }

int64_t pop(void) { return pop_from(top()); }

static struct point pop_point_from(struct stack *stack) {
    int64_t y = pop_from(stack), x = pop_from(stack);
    return (struct point){x, y};
}

struct point pop_point(void) { return pop_point_from(top()); }

void clear_stack(void) { top()->size = 0; }

/* What the benchmark's dialect says of an empty stack: `:` leaves one 0, and the standard's two. */
void duplicate(void) {
    bool single = dialect == BENCHMARK && !top()->size;
    int64_t value = top()->size ? pop() : 0;
    push(value);
    if (!single)
        push(value);
}

/* In the same way `\` leaves one 0 on the empty stack of the benchmark's dialect. */
void swap(void) {
    if (dialect == BENCHMARK && top()->size < 2) {
        push(0);
        return;
    }
    int64_t b = pop(), a = pop();
    push(b);
    push(a);
}

void tell_stack(void) {
    trace_text("[");
    for (size_t i = top()->size; i > 0 && trace_has_room(); i--)
        trace_text(i < top()->size ? ", %lld" : "%lld", (long long)top()->items[i - 1]);
    trace_text("]");
    trace_variable(true, "stack");
    if (dialect == STANDARD) {
        trace_text("%zu", stack_count);
        trace_variable(true, "stacks");
    }
}

static uint64_t magnitude(int64_t count) { return count < 0 ? 0 - (uint64_t)count : (uint64_t)count; }

static void drop(struct stack *stack, uint64_t count) { stack->size -= count < stack->size ? count : stack->size; }

static void push_zeros(struct stack *stack, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        push_on(stack, 0);
}

/* Moves `count` cells in the order they lie in, with zeros below for those that are missing. */
static void transfer(struct stack *from, struct stack *to, uint64_t count) {
    uint64_t present = count < from->size ? count : from->size;
    push_zeros(to, count - present);
    for (uint64_t i = present; i > 0; i--)
        push_on(to, from->items[from->size - i]);
    from->size -= present;
}

static void add_stack(void) {
    if (stacks == &bottom) {
        stacks = allocate(8, sizeof *stacks);
        stacks[0] = bottom;
        stack_capacity = 8;
    }
    APPEND(stacks, stack_count, stack_capacity, ((struct stack){0}));
}

void begin_block(void) {
    int64_t count = pop();
    charge(magnitude(count));
    add_stack();
    if (count > 0)
        transfer(second(), top(), magnitude(count));
    else
        push_zeros(second(), magnitude(count));
    push_on(second(), storage_offset.x);
    push_on(second(), storage_offset.y);
    storage_offset = plus(position, delta);
}

void end_block(void) {
    if (stack_count == 1) {
        reflect();
        return;
    }
    int64_t count = pop();
    charge(count > 0 ? magnitude(count) : 0);
    storage_offset = pop_point_from(second());
    if (count > 0)
        transfer(top(), second(), magnitude(count));
    else
        drop(second(), magnitude(count));
    free(top()->items);
    stack_count--;
}

void stack_under_stack(void) {
    if (stack_count == 1) {
        reflect();
        return;
    }
    int64_t count = pop();
    struct stack *from = count > 0 ? second() : top(), *to = count > 0 ? top() : second();
    charge(magnitude(count));
    for (uint64_t i = magnitude(count); i > 0; i--)
        push_on(to, pop_from(from));
}

/* What `y` tells, its first cell first. */
struct report {
    int64_t *cells;
    size_t size, capacity;
};

static void say(struct report *report, int64_t cell) { APPEND(report->cells, report->size, report->capacity, cell); }

static void say_point(struct report *report, struct point point) {
    say(report, point.y);
    say(report, point.x);
}

static void say_interpreter(struct report *report) {
    say(report, 0);                 /* neither t nor i, o and =, and output is buffered */
    say(report, sizeof(int64_t));   /* bytes in a cell */
    say(report, 0x41474E);          /* who: "AGN" */
    say(report, 100);               /* version */
    say(report, 0);                 /* `=` does nothing */
    say(report, '/');               /* between the folders of a path */
    say(report, 2);                 /* dimensions */
    say(report, 0);                 /* id of the instruction pointer, and its team */
    say(report, 0);
}

static void say_time(struct report *report) {
    time_t now = time(NULL);
    struct tm date;
    gmtime_r(&now, &date);
    say(report, date.tm_year * 65536 + (date.tm_mon + 1) * 256 + date.tm_mday);
    say(report, date.tm_hour * 65536 + date.tm_min * 256 + date.tm_sec);
}

static void say_stacks(struct report *report) {
    say(report, (int64_t)stack_count);
    for (size_t i = stack_count; i > 0; i--)
        say(report, (int64_t)stacks[i - 1].size);
}

/* The program's name is the only argument, and the environment is empty. */
static void say_arguments(struct report *report) {
    const char *slash = strrchr(source.name, '/');
    for (const char *c = slash ? slash + 1 : source.name; *c; c++)
        say(report, (unsigned char)*c);
    for (int i = 0; i < 4; i++)
        say(report, 0);
}

static void push_report(const struct report *report, int64_t wanted) {
    const struct stack *stack = top();
    uint64_t below = wanted > 0 ? (uint64_t)wanted - report->size : 0;
    if (wanted <= 0)
        for (size_t i = report->size; i > 0; i--)
            push(report->cells[i - 1]);
    else if ((uint64_t)wanted <= report->size)
        push(report->cells[wanted - 1]);
    else
        push(below <= stack->size ? stack->items[stack->size - below] : 0);
}

void tell(void) {
    int64_t wanted = pop();
    struct report report = {0};
    space_fit();
    say_interpreter(&report);
    say_point(&report, position);
    say_point(&report, delta);
    say_point(&report, storage_offset);
    say_point(&report, least);
    say_point(&report, plus(greatest, times(least, -1)));
    say_time(&report);
    say_stacks(&report);
    say_arguments(&report);
    charge(report.size);
    push_report(&report, wanted);
    free(report.cells);
}
