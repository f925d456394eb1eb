/* What the interpreters share: the program's text, input and output by the byte, steps, memory and how to die. */

#ifndef COMMON_H
#define COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dialect { BENCHMARK, STANDARD };

struct source {
    const char *name;
    unsigned char *text;
    size_t length;
};

extern enum dialect dialect;
extern struct source source;
extern uint64_t steps_left;

/* Reads the command line `[--dialect benchmark|standard] [--steps N] FILE`, and the file into `source`. */
void start(int argc, char **argv);

/* Flushes the output and exits. */
_Noreturn void finish(int status);

/* Flushes the output, says what is wrong in one line on stderr, and exits with status 1. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, with the line and the column of `offset` in the source. */
_Noreturn void fail_at(size_t offset, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Flushes the output, says so on stderr, and dies of SIGXCPU. */
_Noreturn void out_of_steps(void);

static inline void step(void) {
    if (steps_left == 0)
        out_of_steps();
    steps_left--;
}

/* Pays for work that is worth `steps` steps. */
static inline void charge(uint64_t steps) {
    if (steps > steps_left) {
        steps_left = 0;
        out_of_steps();
    }
    steps_left -= steps;
}

/* For a loop that is compiled twice, with the trace and without, and for what it calls. */
#define INLINED static inline __attribute__((always_inline))

#define NO_BYTE (-1)

/* Tells the trace what was put since the last time. */
void look_at_output(void);

void put_byte(int byte);
void put_text(const char *text);
void put_integer(int64_t value);

/* The next byte of the input, or NO_BYTE at its end; `peek_byte` leaves it there. */
int get_byte(void);
int peek_byte(void);

/* Reads white space, a sign and digits; false, with what was read gone, where no number stands there. */
bool get_integer(int64_t *value);

/* Memory or death. `grow` makes room for one item more, doubling the block of `*capacity` items of `size` bytes. */
void *allocate(size_t count, size_t size);
void *grow(void *block, size_t *capacity, size_t used, size_t size);

/* Makes `array` hold one item more, which becomes `item`. */
#define APPEND(array, count, capacity, item)                                             \
    do {                                                                                 \
        if ((count) == (capacity))                                                       \
            (array) = grow((array), &(capacity), (count), sizeof *(array));              \
        (array)[(count)++] = (item);                                                     \
    } while (0)

#endif
