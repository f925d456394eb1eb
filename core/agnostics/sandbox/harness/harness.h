/* The harness: resident in a slot, it compiles, runs and judges programs, one job at a time, and leaves nothing behind.
 *
 * It is the first process of its own pid namespace, so that one kill(-1, SIGKILL) ends whatever a program started, and
 * no signal from inside reaches it. Jobs and answers travel as length-prefixed frames (frames.c) over one connection.
 */
#ifndef HARNESS_H
#define HARNESS_H

#define _GNU_SOURCE
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The numbers are part of the protocol (protocol.py). */
enum verdict {
    COMPILE_ERROR = 2,
    MEMORY_LIMIT = 3,
    OUTPUT_LIMIT = 4,
    TIME_LIMIT = 5,
    RUNTIME_ERROR = 6,
    WRONG_ANSWER = 7,
    ACCEPTED = 8,
    SKIPPED = 9
};

enum compare_mode { COMPARE_TOKENS, COMPARE_LINES, COMPARE_EXACT, COMPARE_FLOATS, COMPARE_NOTHING, COMPARE_MODES };

struct slice {
    const char *data;
    size_t size;
};

/* frames.c: a job as it arrived; its texts point into the frame. */
struct file {
    const char *name;
    struct slice data;
};

struct test {
    struct slice input, expected;
};

struct job {
    enum compare_mode mode;
    bool stop_on_failure;
    uint32_t run_ms, compile_ms, memory_mb, compile_mb, data_mb, processes, output_bytes, keep_bytes;
    double absolute, relative;
    struct file *files; /* the program first */
    size_t file_count;
    char **compile; /* NULL where nothing is compiled */
    char **execute;
    char **environment;
    struct test *tests;
    size_t test_count;
    const struct frame *frame; /* that it stands in */
};

struct frame {
    char *data;
    size_t size;
};

bool read_frame(int connection, struct frame *frame);
void let_go_of_frame(const struct frame *frame);
void free_frame(struct frame *frame);
const char *parse_job(const struct frame *frame, struct job *job);
void free_job(struct job *job);

/* frames.c: the answer, built up in a growing buffer whose room is reused. */
struct answer {
    char *data;
    size_t size, room;
};

struct difference {
    bool found;
    uint64_t index, offset;
    struct slice expected, actual;
};

/* What one run of the compiler or the program did. */
struct outcome {
    enum verdict verdict;
    int exit_code, signal; /* -1 where there is none */
    uint64_t wall_us, cpu_us, peak_kb;
    struct slice out, err;
    bool out_cut, err_cut;
};

void begin_answer(struct answer *answer, const char *error);
void put_byte(struct answer *answer, uint8_t value);
void put_u32(struct answer *answer, uint32_t value);
void put_outcome(struct answer *answer, const struct outcome *outcome, const struct difference *difference);
bool send_answer(int connection, struct answer *answer);

/* compare.c */
bool outputs_match(const struct job *job, struct slice expected, struct slice actual, struct difference *difference);

/* main.c: how this harness was started. */
struct settings {
    int connection;
    uid_t uid; /* of programs; 0: the harness's own */
    const char *work, *scratch;
    uint64_t frame_kb; /* of the job at hand: our own memory, which counts in the peak of what we start */
    bool namespaced; /* first process of its pid namespace */
};

extern struct settings settings;

/* seccomp.c, privileges.c: what a program inherits and can never get back. */
void install_filter(void);
void keep_needed_capabilities(void);
void mount_ram_disks(const char *bytes, const char *inodes);

/* cgroup.c: evidence from the slot's memory cgroup. */
void watch_memory_cgroup(const char *cgroup);
uint64_t shared_memory_kb(void);
bool counts_oom_kills(void);
bool oom_killed_since_last_call(void);

/* spawn.c */
struct command {
    const char *path;
    char **argv, **environment;
    int in, out, err;
    uint64_t file_bytes, data_mb;
    uint32_t processes;
};

const char *find_executable(const char *name, char **environment, char *room, size_t size);
pid_t spawn(const struct command *command, int *pidfd, int *error);

/* usage.c: what the living processes of the slot have used, by /proc. */
struct usage {
    uint64_t cpu_us, delay_us, resident_kb, private_kb;
    bool runnable; /* some thread runs, or waits for a processor */
};

void measure_processes(pid_t program, struct usage *usage);

/* run.c */
struct limits {
    uint64_t time_us, file_bytes, out_bytes, memory_mb, data_mb;
    uint32_t processes;
    bool watch_memory; /* the slot's own limit is missing, or wider than this one */
};

struct streams {
    int in, out, err;
};

const char *run_command(const char *path, char **argv, char **environment, const struct limits *limits,
                        const struct streams *streams, struct outcome *outcome);
uint64_t clock_us(void);

/* memory.c: files without a name. */
int sealed_input(struct slice input);
int output_file(void);
bool read_output(int fd, size_t limit, struct frame *room, struct slice *out);
uint64_t file_size(int fd);

/* wipe.c: processes and files. */
void kill_everything(void);
void open_folders(void);
const char *write_file(const struct file *file);
const char *keep_products(void);
void forget_products(void);
bool wipe_scratch(void);

/* products.c */
const char *lock_products(bool compiled);
bool products_untouched(void);

/* job.c */
void do_job(const struct job *job, struct answer *answer);

#endif
