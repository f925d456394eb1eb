/* What the program calls at each procedure and line, and how its end is seen. */

#define _GNU_SOURCE
#include "trace.h"

#include <errno.h>
#include <fenv.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef __x86_64__
#error "the tracer of Fortran knows x86-64 only"
#endif

/* The text of a variable when it was last looked at. */
struct shown {
    char *text;
    size_t size, capacity;
    bool is_there, cut;
};

struct scope {
    const struct procedure *procedure;
    uint64_t frame;
    size_t line;
    struct shown *shown;
};

char agn_tracing __attribute__((visibility("hidden")));

static struct scope *scopes;
static size_t depth, capacity, deepest;

static struct text text;
static char messages[2048]; /* what was written to stderr last */
static size_t message_size;

static const int fatal_signals[] = {SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGABRT};
#define SIGNALS (sizeof fatal_signals / sizeof *fatal_signals)
static struct sigaction old_actions[SIGNALS];

/* --- events --- */

static void stop_tracing(void) { agn_tracing = 0; }

static void end_event(void) {
    file_put("}");
    if (!file_end_event())
        stop_tracing();
}

static void begin_event(const char *kind, const struct scope *scope) {
    char words[96];
    snprintf(words, sizeof words, "{\"e\":\"%s\",\"l\":%zu,\"d\":%zu", kind, scope->line, (size_t)(scope - scopes));
    file_put(words);
}

/* The address of a variable; 0 if it is out of scope, or a parameter that was not given. */
static uint64_t address_of(const struct variable *variable, const struct scope *scope, uint64_t pc) {
    struct context context = {scope->frame, 0};
    uint64_t address;
    bool is_in_scope = pc >= variable->low && pc < variable->high;
    return is_in_scope && evaluate(&variable->location, &context, &address) ? address : 0;
}

/* Makes the text of a variable; false if it has no value. */
static bool render(const struct variable *variable, const struct scope *scope, uint64_t pc) {
    uint64_t address = address_of(variable, scope, pc);
    text_clear(&text);
    if (!address)
        return false;
    text_value(&text, variable->type, address, scope->frame);
    return text.defined || !text.undefined;
}

static void keep_text(struct shown *shown) {
    if (shown->capacity < text.size) {
        shown->capacity = 2 * text.size;
        shown->text = trace_resize(shown->text, shown->capacity, 1);
    }
    memcpy(shown->text, text.bytes, text.size);
    shown->size = text.size;
    shown->cut = text.cut;
    shown->is_there = true;
}

static void put_list(const char *key, const struct procedure *procedure, const bool *chosen) {
    bool any = false;
    for (size_t i = 0; i < procedure->count; i++) {
        if (!chosen[i])
            continue;
        file_put(any ? "," : key);
        file_put_json(procedure->variables[i].name, strlen(procedure->variables[i].name));
        any = true;
    }
    file_put(any ? "]" : "");
}

/* Writes what has changed since the last event of the scope. */
static void put_variables(struct scope *scope, uint64_t pc) {
    const struct procedure *procedure = scope->procedure;
    static bool *gone, *cut;
    static size_t room;
    if (room < procedure->count) {
        room = procedure->count;
        gone = trace_resize(gone, room, sizeof *gone);
        cut = trace_resize(cut, room, sizeof *cut);
    }
    bool any = false;
    for (size_t i = 0; i < procedure->count; i++) {
        struct shown *shown = &scope->shown[i];
        bool is_there = render(&procedure->variables[i], scope, pc);
        gone[i] = shown->is_there && !is_there;
        cut[i] = false;
        shown->is_there = shown->is_there && is_there;
        if (!is_there || (shown->is_there && shown->size == text.size && memcmp(shown->text, text.bytes, text.size) == 0))
            continue;
        keep_text(shown);
        cut[i] = text.cut;
        file_put(any ? "," : ",\"v\":{");
        file_put_json(procedure->variables[i].name, strlen(procedure->variables[i].name));
        file_put(":");
        file_put_json(shown->text, shown->size);
        any = true;
    }
    file_put(any ? "}" : "");
    put_list(",\"g\":[", procedure, gone);
    put_list(",\"c\":[", procedure, cut);
}

static bool is_traced(const struct scope *scope) { return agn_tracing && (size_t)(scope - scopes) <= deepest; }

static void put_result(void) {
    file_put(",\"r\":");
    file_put_json(text.bytes, text.size);
    file_put(text.cut ? ",\"c\":[\"value\"]" : "");
}

/* Ends the innermost scope with the text. */
static void leave(const char *kind) {
    struct scope *scope = &scopes[depth - 1];
    if (is_traced(scope)) {
        begin_event(kind, scope);
        put_result();
        end_event();
    }
    for (size_t i = 0; i < scope->procedure->count; i++)
        free(scope->shown[i].text);
    free(scope->shown);
    depth--;
}

static void finish(void) {
    if (!agn_tracing)
        return;
    stop_tracing();
    file_end("complete");
}

static void fail(const char *message, size_t size) {
    text_clear(&text);
    text_bytes(&text, message, size, false);
    while (agn_tracing && depth)
        leave("exception");
    finish();
}

/* --- the end of the program --- */

/* The line of the messages that says what was wrong. */
static const char *find_message(size_t *size) {
    const char *found = strstr(messages, "Fortran runtime error: ");
    found = found ? found + strlen("Fortran runtime error: ") : strstr(messages, "ERROR STOP");
    found = found ? found : strstr(messages, "STOP");
    *size = found ? strcspn(found, "\n") : 0;
    return found;
}

static void at_exit(int status, void *unused) {
    (void)unused;
    size_t size;
    char words[32];
    const char *message = find_message(&size);
    if (!agn_tracing)
        return;
    if (status && !message) {
        snprintf(words, sizeof words, "exit status %d", status);
        message = words;
        size = strlen(words);
    }
    if (status)
        fail(message, size);
    finish();
}

/* Tells of the signal; the statement that caused it is then run again, and the program ends as without the trace. */
static void on_signal(int number) {
    const char *name = strsignal(number);
    if (agn_tracing)
        fail(name, strlen(name));
    for (size_t i = 0; i < SIGNALS; i++)
        sigaction(fatal_signals[i], &old_actions[i], NULL);
    if (number == SIGABRT)
        raise(number);
}

static void watch_signals(void) {
    static char own_stack[1 << 17];
    sigaltstack(&(stack_t){.ss_sp = own_stack, .ss_size = sizeof own_stack}, NULL);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    for (size_t i = 0; i < SIGNALS; i++)
        sigaction(fatal_signals[i], &action, &old_actions[i]);
}

static void note_message(int file, const char *bytes, size_t size) {
    if (file != STDERR_FILENO || !agn_tracing)
        return;
    size_t room = sizeof messages - 1 - message_size;
    memcpy(messages + message_size, bytes, size < room ? size : room);
    message_size += size < room ? size : room;
}

/* In place of the C library's, for libgfortran, whose messages tell of errors. */
ssize_t write(int file, const void *bytes, size_t size) {
    note_message(file, bytes, size);
    return syscall(SYS_write, file, bytes, size);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    for (int i = 0; i < count; i++)
        note_message(file, parts[i].iov_base, parts[i].iov_len);
    return syscall(SYS_writev, file, parts, count);
}

/* --- what the program calls --- */

static void begin(void) {
    static bool has_begun;
    if (has_begun)
        return;
    has_begun = true;
    deepest = trace_limit("AGN_TRACE_DEPTH", 100);
    longest_value = trace_limit("AGN_TRACE_VALUE", 1000);
    if (!getenv("AGN_TRACE") || !debug_open() || !file_open())
        return;
    read_program();
    agn_tracing = 1;
    mallopt(M_PERTURB, 0xFE ^ 0xFF); /* allocated memory is filled as variables are */
    on_exit(at_exit, NULL);
}

static void enter(const struct procedure *procedure, uint64_t frame, uint64_t pc) {
    if (depth == capacity) {
        capacity = 2 * capacity + 64;
        scopes = trace_resize(scopes, capacity, sizeof *scopes);
    }
    struct scope *scope = &scopes[depth++];
    *scope = (struct scope){procedure, frame, procedure->line, trace_resize(NULL, procedure->count, sizeof(struct shown))};
    memset(scope->shown, 0, procedure->count * sizeof(struct shown));
    if (procedure->is_main)
        watch_signals(); /* after libgfortran, whose handlers come next */
    if (!is_traced(scope))
        return;
    begin_event("call", scope);
    file_put(",\"f\":");
    const char *name = procedure->is_main ? "" : procedure->name;
    file_put_json(name, strlen(name));
    put_variables(scope, pc);
    end_event();
}

static void return_from(const struct procedure *procedure, uint64_t pc) {
    const struct scope *scope = &scopes[depth - 1];
    text_clear(&text);
    for (size_t i = 0; is_traced(scope) && procedure->is_function && i < procedure->count; i++) {
        if (strcmp(procedure->variables[i].name, procedure->result) == 0) {
            if (!render(&procedure->variables[i], scope, pc))
                text_clear(&text);
            break;
        }
    }
    leave("return");
    if (procedure->is_main)
        finish();
}

#define FRAME ((uint64_t)__builtin_frame_address(1) + 16) /* as DW_OP_call_frame_cfa says: above what a call pushes */
#define PC ((uint64_t)__builtin_return_address(0))

void __cyg_profile_func_enter(void *function, void *site) {
    (void)site;
    fenv_t environment;
    int error = errno;
    feholdexcept(&environment);
    begin();
    const struct procedure *procedure = agn_tracing ? find_procedure((uint64_t)function) : NULL;
    if (procedure)
        enter(procedure, FRAME, PC);
    fesetenv(&environment);
    errno = error;
}

void __cyg_profile_func_exit(void *function, void *site) {
    (void)site;
    fenv_t environment;
    int error = errno;
    feholdexcept(&environment);
    const struct procedure *procedure = agn_tracing ? find_procedure((uint64_t)function) : NULL;
    if (procedure && depth && scopes[depth - 1].procedure == procedure)
        return_from(procedure, PC);
    fesetenv(&environment);
    errno = error;
}

__attribute__((visibility("hidden"), used)) void agn_line_event(size_t line, uint64_t base, uint64_t pc) {
    struct scope *scope = depth ? &scopes[depth - 1] : NULL;
    if (!scope || scope->frame != base + 16 || line == scope->line || !is_statement(line))
        return;
    int error = errno;
    scope->line = line;
    if (is_traced(scope)) {
        begin_event("line", scope);
        put_variables(scope, pc);
        end_event();
    }
    errno = error;
}

/* Leaves every register and flag as it was. On the stack are the line and the address to return to. */
__asm__(".text\n"
        ".globl agn_line\n"
        ".type agn_line, @function\n"
        "agn_line:\n"
        "    pushfq\n"
        "    cmpb $0, agn_tracing(%rip)\n"
        "    je 1f\n"
        "    pushq %rax\n    pushq %rcx\n    pushq %rdx\n    pushq %rsi\n    pushq %rdi\n"
        "    pushq %r8\n    pushq %r9\n    pushq %r10\n    pushq %r11\n    pushq %rbx\n"
        "    movq %rsp, %rbx\n"
        "    subq $512, %rsp\n"
        "    andq $-64, %rsp\n"
        "    fxsave64 (%rsp)\n"
        "    cld\n"
        "    movq 96(%rbx), %rdi\n"
        "    movq %rbp, %rsi\n"
        "    movq 88(%rbx), %rdx\n"
        "    call agn_line_event\n"
        "    fxrstor64 (%rsp)\n"
        "    movq %rbx, %rsp\n"
        "    popq %rbx\n    popq %r11\n    popq %r10\n    popq %r9\n    popq %r8\n"
        "    popq %rdi\n    popq %rsi\n    popq %rdx\n    popq %rcx\n    popq %rax\n"
        "1:  popfq\n"
        "    ret\n"
        ".size agn_line, .-agn_line\n"
        /* On the stack are how many bytes above them are new, and the address to return to. */
        ".globl agn_fill\n"
        ".type agn_fill, @function\n"
        "agn_fill:\n"
        "    pushq %rax\n    pushq %rcx\n    pushq %rdi\n"
        "    cld\n"
        "    movb $0xFE, %al\n"
        "    movq 32(%rsp), %rcx\n"
        "    leaq 40(%rsp), %rdi\n"
        "    rep stosb\n"
        "    popq %rdi\n    popq %rcx\n    popq %rax\n"
        "    ret\n"
        ".size agn_fill, .-agn_fill\n");
