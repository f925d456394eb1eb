/* One job: write the program, compile it once, run every test, compare, and leave nothing. */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COMPILE_FILE_BYTES = 256 << 20, COMPILE_LOG_BYTES = 64 << 20, COMPILE_PROCESSES = 64, KEPT_ROOM = 128 << 10 };

static struct frame out_room, err_room;
static const char no_room[] = "no memory for the streams of a program";

static void shrink(struct frame *room) {
    if (room->size <= KEPT_ROOM) return;
    free(room->data);
    *room = (struct frame){NULL, 0};
}

static const char *open_streams(struct streams *streams, struct slice input, bool merged) {
    streams->in = sealed_input(input);
    streams->out = output_file();
    streams->err = merged ? streams->out : output_file();
    return streams->in < 0 || streams->out < 0 || streams->err < 0 ? no_room : NULL;
}

static void close_streams(const struct streams *streams) {
    close(streams->in);
    close(streams->out);
    if (streams->err != streams->out) close(streams->err);
}

static void cut(struct slice *text, uint64_t whole, uint32_t keep, bool *was_cut) {
    if (text->size > keep) text->size = keep;
    *was_cut = whole > text->size;
}

static const char *run_compiler(const struct job *job, const struct streams *streams, struct outcome *outcome) {
    char room[4096];
    static char message[512];
    uint32_t processes = job->processes > COMPILE_PROCESSES ? job->processes : COMPILE_PROCESSES;
    struct limits limits = {job->compile_ms * 1000UL, COMPILE_FILE_BYTES, COMPILE_LOG_BYTES, job->compile_mb, 0, processes,
                            !counts_oom_kills()};
    const char *path = find_executable(job->compile[0], job->environment, room, sizeof room);
    if (path) return run_command(path, job->compile, job->environment, &limits, streams, outcome);
    snprintf(message, sizeof message, "%.200s is not installed in this sandbox", job->compile[0]);
    return message;
}

static const char *compile(const struct job *job, struct outcome *outcome) {
    struct streams streams;
    const char *error = open_streams(&streams, (struct slice){"", 0}, true);
    if (!error) error = run_compiler(job, &streams, outcome);
    if (!error && !read_output(streams.out, job->keep_bytes, &out_room, &outcome->out)) error = no_room;
    if (!error) cut(&outcome->out, file_size(streams.out), job->keep_bytes, &outcome->out_cut);
    close_streams(&streams);
    return error;
}

/* Bring the program into the work folder, compiled where it has to be. */
static const char *prepare(const struct job *job, struct outcome *compiled) {
    const char *error = NULL;
    for (size_t i = 0; !error && i < job->file_count; i++) error = write_file(&job->files[i]);
    *compiled = (struct outcome){.verdict = ACCEPTED, .exit_code = -1, .signal = -1};
    if (!error && job->compile[0]) error = compile(job, compiled);
    if (error || compiled->verdict != ACCEPTED) return error;
    error = lock_products(job->compile[0] != NULL);
    if (!error && job->compile[0] && !wipe_scratch()) error = "cannot clear the folders after the compiler";
    return error;
}

/* A toolchain that cannot be started is the sandbox's fault; what the program's own compilation left is the program's. */
static const char *could_not_start(const struct job *job, const char *error, struct outcome *outcome) {
    if (job->execute[0][0] != '.') return error;
    outcome->verdict = RUNTIME_ERROR;
    outcome->err = (struct slice){error, strlen(error)};
    return NULL;
}

/* What we hold is not to weigh more than what we run (frames.c). */
static void be_small(const struct job *job) {
    shrink(&out_room), shrink(&err_room);
    let_go_of_frame(job->frame);
}

static const char *run_program(const struct job *job, const struct streams *streams, struct outcome *outcome) {
    char room[4096];
    static char message[512];
    bool slot_is_wider = job->compile[0] && job->compile_mb > job->memory_mb;
    struct limits limits = {job->run_ms * 1000UL, job->output_bytes + 1UL, job->output_bytes,
                            job->memory_mb,       job->data_mb,            job->processes,
                            slot_is_wider || !counts_oom_kills()};
    const char *path = find_executable(job->execute[0], job->environment, room, sizeof room);
    be_small(job);
    if (path) return run_command(path, job->execute, job->environment, &limits, streams, outcome);
    snprintf(message, sizeof message, "%.200s is not installed in this sandbox", job->execute[0]);
    return message;
}

static const char *read_streams(const struct job *job, const struct streams *streams, const struct test *test,
                                struct outcome *outcome, struct difference *difference) {
    bool judged = outcome->verdict == ACCEPTED && job->mode != COMPARE_NOTHING;
    if (!read_output(streams->out, judged ? job->output_bytes : job->keep_bytes, &out_room, &outcome->out)) return no_room;
    if (!read_output(streams->err, job->keep_bytes, &err_room, &outcome->err)) return no_room;
    if (judged && !outputs_match(job, test->expected, outcome->out, difference)) outcome->verdict = WRONG_ANSWER;
    cut(&outcome->out, file_size(streams->out), job->keep_bytes, &outcome->out_cut);
    cut(&outcome->err, file_size(streams->err), job->keep_bytes, &outcome->err_cut);
    return NULL;
}

static const char *run_test(const struct job *job, const struct test *test, struct outcome *outcome,
                            struct difference *difference) {
    struct streams streams;
    *outcome = (struct outcome){.exit_code = -1, .signal = -1};
    difference->found = false;
    const char *error = open_streams(&streams, test->input, false);
    const char *failed = error ? NULL : run_program(job, &streams, outcome);
    if (failed) error = could_not_start(job, failed, outcome);
    else if (!error) error = read_streams(job, &streams, test, outcome, difference);
    close_streams(&streams);
    return error;
}

static const char *tidy(const struct job *job) {
    struct outcome again;
    if (!wipe_scratch()) return "cannot clear the folders after a program";
    if (products_untouched()) return NULL;
    forget_products();
    if (!wipe_scratch()) return "cannot clear the folders after a program";
    const char *error = prepare(job, &again);
    return error || again.verdict == ACCEPTED ? error : "a program that was tampered with no longer compiles";
}

static const char *run_tests(const struct job *job, struct answer *answer) {
    static const struct outcome skipped = {.verdict = SKIPPED, .exit_code = -1, .signal = -1, .out = {"", 0}, .err = {"", 0}};
    bool stopped = false;
    put_u32(answer, (uint32_t)job->test_count);
    for (size_t i = 0; i < job->test_count; i++) {
        if (stopped) {
            put_outcome(answer, &skipped, NULL);
            continue;
        }
        struct outcome outcome;
        struct difference difference;
        const char *error = run_test(job, &job->tests[i], &outcome, &difference);
        if (error) return error;
        put_outcome(answer, &outcome, &difference);
        error = tidy(job);
        if (error) return error;
        stopped = job->stop_on_failure && outcome.verdict != ACCEPTED;
    }
    return NULL;
}

static const char *prepare_and_run(const struct job *job, struct answer *answer) {
    struct outcome compiled;
    const char *error = prepare(job, &compiled);
    if (error) return error;
    put_byte(answer, job->compile[0] != NULL);
    if (job->compile[0]) put_outcome(answer, &compiled, NULL);
    if (compiled.verdict == ACCEPTED) return run_tests(job, answer);
    put_u32(answer, 0);
    return NULL;
}

/* Do a job and compose its answer. */
void do_job(const struct job *job, struct answer *answer) {
    begin_answer(answer, "");
    const char *error = prepare_and_run(job, answer);
    kill_everything();
    forget_products();
    if (!wipe_scratch() && !error) error = "cannot clear the folders after a program";
    if (error) begin_answer(answer, error);
    shrink(&out_room), shrink(&err_room);
}
