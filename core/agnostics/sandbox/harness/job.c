/* One job: write the program, compile it once, run every test, compare the outputs, and remove all files. */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COMPILE_FILE_BYTES = 256 << 20, COMPILE_LOG_BYTES = 64 << 20, COMPILE_PROCESSES = 64, KEPT_BYTES = 128 << 10 };
enum { CANNOT_START = 127, SESSION_FILE_BYTES = 256 << 20 };

static struct frame out_buffer, err_buffer;
static const char no_memory[] = "no memory for the streams of a program";

static void shrink(struct frame *buffer) {
    if (buffer->size <= KEPT_BYTES) return;
    free(buffer->data);
    *buffer = (struct frame){NULL, 0};
}

static const char *open_streams(struct streams *streams, struct slice input, bool merged) {
    streams->in = sealed_input(input);
    streams->out = memory_file();
    streams->err = merged ? streams->out : memory_file();
    return streams->in < 0 || streams->out < 0 || streams->err < 0 ? no_memory : NULL;
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

static const char *run_compiler(const struct job *job, const struct streams *streams, struct run_result *run) {
    char path_buffer[4096];
    static char message[512];
    uint32_t processes = job->processes > COMPILE_PROCESSES ? job->processes : COMPILE_PROCESSES;
    struct limits limits = {job->compile_ms * 1000UL, COMPILE_FILE_BYTES, COMPILE_LOG_BYTES, job->compile_mb, 0, processes,
                            false, false};
    const char *path = find_executable(job->compile[0], job->environment, path_buffer, sizeof path_buffer);
    if (path) return run_command(path, job->compile, job->environment, &limits, streams, run);
    snprintf(message, sizeof message, "%.200s is not installed in this sandbox", job->compile[0]);
    return message;
}

static const char *compile(const struct job *job, struct run_result *run) {
    struct streams streams;
    const char *error = open_streams(&streams, (struct slice){"", 0}, true);
    if (!error) error = run_compiler(job, &streams, run);
    if (!error && !read_output(streams.out, job->keep_bytes, &out_buffer, &run->out)) error = no_memory;
    if (!error) cut(&run->out, file_size(streams.out), job->keep_bytes, &run->out_cut);
    close_streams(&streams);
    return error;
}

/* Write the program into the work folder, and compile it if its language does. */
static const char *prepare(const struct job *job, struct run_result *compiled) {
    const char *error = prepare_fork_server(job);
    for (size_t i = 0; !error && i < job->file_count; i++) error = write_file(&job->files[i]);
    *compiled = (struct run_result){.verdict = ACCEPTED, .exit_code = -1, .signal = -1};
    if (!error && job->compile[0]) error = compile(job, compiled);
    if (error || compiled->verdict != ACCEPTED) return error;
    error = lock_products(job->compile[0] != NULL);
    if (!error && job->compile[0] && !wipe_scratch()) error = "cannot clear the folders after the compiler";
    return error;
}

/* A toolchain that cannot be started is an error of the sandbox; a compiled program that cannot is a runtime error, and
 * so is a command of a session, with the exit status that shells give it. */
static const char *start_failed(const struct job *job, const char *error, struct run_result *run) {
    if (job->request != RUN_COMMAND && job->execute[0][0] != '.') return error;
    if (job->request == RUN_COMMAND) run->exit_code = CANNOT_START;
    run->verdict = RUNTIME_ERROR;
    run->err = (struct slice){error, strlen(error)};
    return NULL;
}

/* Keep the harness smaller than the program that it runs (frames.c). */
static void shrink_memory(const struct job *job) {
    shrink(&out_buffer), shrink(&err_buffer);
    drop_frame_pages(job->frame);
}

static const char *run_program(const struct job *job, const struct streams *streams, struct run_result *run) {
    char path_buffer[4096];
    static char message[512];
    uint64_t file_bytes = job->request == RUN_COMMAND ? SESSION_FILE_BYTES : job->output_bytes + 1UL;
    struct limits limits = {job->run_ms * 1000UL, file_bytes,              job->output_bytes,
                            job->memory_mb,       job->data_mb,            job->processes,
                            is_forked(job),       job->request == RUN_COMMAND};
    const char *path = find_executable(job->execute[0], job->environment, path_buffer, sizeof path_buffer);
    shrink_memory(job);
    if (path) return run_command(path, job->execute, job->environment, &limits, streams, run);
    snprintf(message, sizeof message, "%.200s is not installed in this sandbox", job->execute[0]);
    return message;
}

static const char *read_streams(const struct job *job, const struct streams *streams, const struct test *test,
                                struct run_result *run, struct difference *difference) {
    bool compared = run->verdict == ACCEPTED && job->mode != COMPARE_NOTHING;
    uint32_t size = compared ? job->output_bytes : job->keep_bytes;
    if (!read_output(streams->out, size, &out_buffer, &run->out)) return no_memory;
    if (!read_output(streams->err, job->keep_bytes, &err_buffer, &run->err)) return no_memory;
    if (compared && !outputs_match(job, test->expected, run->out, difference)) run->verdict = WRONG_ANSWER;
    cut(&run->out, file_size(streams->out), job->keep_bytes, &run->out_cut);
    cut(&run->err, file_size(streams->err), job->keep_bytes, &run->err_cut);
    return NULL;
}

static const char *run_test(const struct job *job, const struct test *test, struct run_result *run,
                            struct difference *difference) {
    struct streams streams;
    *run = (struct run_result){.exit_code = -1, .signal = -1};
    difference->found = false;
    const char *error = open_streams(&streams, test->input, false);
    const char *failed = error ? NULL : run_program(job, &streams, run);
    if (failed) error = start_failed(job, failed, run);
    else if (!error) error = read_streams(job, &streams, test, run, difference);
    close_streams(&streams);
    return error;
}

static const char *clean_up(const struct job *job) {
    struct run_result again;
    if (!wipe_scratch()) return "cannot clear the folders after a program";
    hold_reserve();
    if (products_unchanged()) return NULL;
    forget_products();
    if (!wipe_scratch()) return "cannot clear the folders after a program";
    const char *error = prepare(job, &again);
    return error || again.verdict == ACCEPTED ? error : "a program that was tampered with no longer compiles";
}

static const char *run_tests(const struct job *job, struct result *result) {
    static const struct run_result skipped = {
        .verdict = SKIPPED, .exit_code = -1, .signal = -1, .out = {"", 0}, .err = {"", 0}};
    bool stopped = false;
    put_u32(result, (uint32_t)job->test_count);
    for (size_t i = 0; i < job->test_count; i++) {
        if (stopped) {
            put_run_result(result, &skipped, NULL);
            continue;
        }
        struct run_result run;
        struct difference difference;
        const char *error = run_test(job, &job->tests[i], &run, &difference);
        if (error) return error;
        put_run_result(result, &run, &difference);
        if (!send_part(settings.connection, result)) return "the client is gone";
        error = clean_up(job);
        if (error) return error;
        stopped = job->stop_on_failure && run.verdict != ACCEPTED;
    }
    return NULL;
}

static const char *prepare_and_run(const struct job *job, struct result *result) {
    struct run_result compiled;
    const char *error = prepare(job, &compiled);
    if (error) return error;
    put_byte(result, job->compile[0] != NULL);
    if (job->compile[0]) put_run_result(result, &compiled, NULL);
    if (compiled.verdict == ACCEPTED) return run_tests(job, result);
    put_u32(result, 0);
    return NULL;
}

static const char *run_in_session(const struct job *job, struct result *result) {
    const struct test test = {job->command_input, {"", 0}};
    struct run_result run;
    struct difference difference;
    const char *error = run_test(job, &test, &run, &difference);
    if (error) return error;
    put_byte(result, 0); /* nothing was compiled */
    put_u32(result, 1);
    put_run_result(result, &run, NULL);
    put_text(result, "");
    return NULL;
}

/* Run a command of a session and write its result: what it has written stays. */
void run_command_of_session(const struct job *job, struct result *result) {
    begin_result(result, "");
    hold_reserve();
    const char *error = run_in_session(job, result);
    if (error) begin_result(result, error);
    shrink(&out_buffer), shrink(&err_buffer);
}

/* End a session: no process or file of it is left. */
void clear_slot(struct result *result) {
    kill_everything();
    begin_result(result, wipe_scratch() ? "" : "cannot clear the folders after a session");
    put_byte(result, 0), put_u32(result, 0), put_text(result, "");
}

/* Run a job and write its result. */
void run_job(const struct job *job, struct result *result) {
    begin_result(result, "");
    hold_reserve();
    const char *error = prepare_and_run(job, result);
    kill_everything();
    forget_products();
    if (!wipe_scratch() && !error) error = "cannot clear the folders after a program";
    if (error) begin_result(result, error);
    else put_text(result, *job->hold_at ? fork_server_refusal() : "");
    shrink(&out_buffer), shrink(&err_buffer);
}
