/* What the interpreters share: the program's text, input and output by the byte, steps, memory and how to die. */

#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "trace.h"

#define DEFAULT_STEPS 10000000
#define BUFFER_SIZE 65536

enum dialect dialect = BENCHMARK;
struct source source;
uint64_t steps_left;

static uint64_t step_limit = DEFAULT_STEPS;
static unsigned char output[BUFFER_SIZE], input[BUFFER_SIZE];
static size_t output_used, output_traced, input_used, input_next;
static bool input_ended;

static _Noreturn void usage(const char *what, const char *word) {
    fprintf(stderr, "%s%s; usage: [--dialect benchmark|standard] [--steps N] FILE\n", what, word);
    exit(2);
}

static uint64_t parse_steps(const char *word) {
    char *end;
    errno = 0;
    uint64_t steps = strtoull(word, &end, 10);
    if (errno || *end || *word < '0' || *word > '9')
        usage("not a number of steps: ", word);
    return steps;
}

static enum dialect parse_dialect(const char *word) {
    if (strcmp(word, "benchmark") == 0)
        return BENCHMARK;
    if (strcmp(word, "standard") == 0)
        return STANDARD;
    usage("unknown dialect ", word);
}

static void read_source(void) {
    size_t capacity = 0;
    ssize_t count = 0;
    int file = open(source.name, O_RDONLY | O_CLOEXEC);
    do {
        if (source.length == capacity)
            source.text = grow(source.text, &capacity, source.length, 1);
        if (file >= 0)
            count = read(file, source.text + source.length, capacity - source.length);
        if (file < 0 || (count < 0 && errno != EINTR))
            fail("cannot read %s: %s", source.name, strerror(errno));
        source.length += count > 0 ? (size_t)count : 0;
    } while (count != 0);
    close(file);
}

void start(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--dialect") == 0 && i + 1 < argc)
            dialect = parse_dialect(argv[++i]);
        else if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc)
            step_limit = parse_steps(argv[++i]);
        else if (argv[i][0] == '-' || source.name)
            usage("unexpected ", argv[i]);
        else
            source.name = argv[i];
    }
    if (!source.name)
        usage("no file", "");
    trace_prepare();
    steps_left = step_limit ? step_limit : UINT64_MAX;
    read_source();
}

void look_at_output(void) {
    trace_output(output + output_traced, output_used - output_traced);
    output_traced = output_used;
}

static bool flush(void) {
    size_t done = 0;
    if (tracing)
        look_at_output();
    while (done < output_used) {
        ssize_t count = write(STDOUT_FILENO, output + done, output_used - done);
        if (count < 0 && errno != EINTR)
            break;
        done += count > 0 ? (size_t)count : 0;
    }
    bool complete = done == output_used;
    output_used = output_traced = 0;
    return complete;
}

static void flush_or_fail(void) {
    if (!flush())
        fail("cannot write the output: %s", strerror(errno));
}

_Noreturn void finish(int status) {
    flush_or_fail();
    if (tracing)
        trace_finish(status);
    exit(status);
}

_Noreturn void fail(const char *format, ...) {
    char message[4200]; /* the longest path, and what is wrong with it */
    va_list arguments;
    flush();
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    static bool failing; /* while it is told, memory may end */
    if (tracing && !failing) {
        failing = true;
        trace_failure(message);
    }
    if (trace_asked)
        trace_refuse();
    fprintf(stderr, "%s\n", message);
    exit(1);
}

_Noreturn void fail_at(size_t offset, const char *format, ...) {
    char message[256];
    size_t line = 1, column = 1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    for (size_t i = 0; i < offset && i < source.length; i++) {
        column = source.text[i] == '\n' ? 1 : column + 1;
        line += source.text[i] == '\n';
    }
    fail("line %zu, column %zu: %s", line, column, message);
}

_Noreturn void out_of_steps(void) {
    char message[64];
    flush();
    snprintf(message, sizeof message, "step limit of %" PRIu64 " reached", step_limit);
    if (tracing)
        trace_failure(message);
    fprintf(stderr, "%s\n", message);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(SIGXCPU, SIG_DFL);
    raise(SIGXCPU);
    _exit(1);
}

void put_byte(int byte) {
    if (output_used == BUFFER_SIZE)
        flush_or_fail();
    output[output_used++] = (unsigned char)byte;
}

void put_text(const char *text) {
    while (*text)
        put_byte(*text++);
}

void put_integer(int64_t value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    put_text(digits);
}

int peek_byte(void) {
    while (input_next == input_used && !input_ended) {
        flush_or_fail(); /* whoever types the input sees first what the program asks */
        ssize_t count = read(STDIN_FILENO, input, BUFFER_SIZE);
        if (count < 0 && errno == EINTR)
            continue;
        input_ended = count <= 0;
        input_used = count > 0 ? (size_t)count : 0;
        input_next = 0;
    }
    return input_ended ? NO_BYTE : input[input_next];
}

int get_byte(void) {
    int byte = peek_byte();
    if (byte != NO_BYTE)
        input_next++;
    return byte;
}

static bool is_digit(int byte) {
    return byte >= '0' && byte <= '9';
}

static bool is_blank(int byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

bool get_integer(int64_t *value) {
    int byte = get_byte();
    while (is_blank(byte))
        byte = get_byte();
    bool negative = byte == '-';
    if (byte == '-' || byte == '+')
        byte = get_byte();
    if (!is_digit(byte))
        return false;
    *value = 0;
    for (;; byte = get_byte()) {
        int64_t digit = negative ? '0' - byte : byte - '0';
        if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, digit, value))
            fail("a number in the input is too large");
        if (!is_digit(peek_byte()))
            return true;
    }
}

void *allocate(size_t count, size_t size) {
    void *block = calloc(count ? count : 1, size);
    if (!block)
        fail("out of memory");
    return block;
}

void *grow(void *block, size_t *capacity, size_t used, size_t size) {
    size_t wanted = *capacity ? *capacity * 2 : 64;
    void *larger;
    if (wanted > SIZE_MAX / 4 / size || !(larger = realloc(block, wanted * size)))
        fail("out of memory");
    memset((char *)larger + used * size, 0, (wanted - used) * size);
    *capacity = wanted;
    return larger;
}
