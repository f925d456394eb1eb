/* The harness: resident in a slot, it compiles, runs and checks programs, one job at a time, and leaves nothing behind.
 *
 * It is the first process of its own pid namespace, so that one kill(-1, SIGKILL) ends all processes of a program, and
 * no signal from inside reaches it. Jobs and results travel as length-prefixed frames (frames.c) over one connection.
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

/* What a frame asks for. The commands of a session leave their files, until the slot is cleared. An interrupt ends the
 * command that runs, and has no result of its own. */
enum request { RUN_PROGRAM, RUN_COMMAND, CLEAR, INTERRUPT, REQUESTS };

enum compare_mode { COMPARE_TOKENS, COMPARE_LINES, COMPARE_EXACT, COMPARE_FLOATS, COMPARE_NOTHING, COMPARE_MODES };

struct slice {
    const char *data;
    size_t size;
};

/* frames.c: a job; its texts point into the frame. */
struct file {
    const char *name;
    struct slice data;
};

struct test {
    struct slice input, expected;
};

struct job {
    enum request request;
    enum compare_mode mode;
    bool stop_on_failure;
    uint32_t run_ms, compile_ms, memory_mb, compile_mb, data_mb, processes, output_bytes, keep_bytes;
    double absolute, relative;
    struct file *files; /* the program first */
    size_t file_count;
    char **compile; /* empty if nothing is compiled */
    char **execute;
    char **environment;
    const char *hold_at;     /* the file at which its interpreter is held to be forked; empty if it is executed */
    char **hold_execute;     /* the command that starts that interpreter */
    struct file *hold_files; /* stand beside the program meanwhile */
    size_t hold_file_count;
    struct test *tests;
    size_t test_count;
    struct slice command_input;
    const struct frame *frame; /* the one that holds it */
};

struct frame {
    char *data;
    size_t size;
};

bool read_frame(int connection, struct frame *frame);
bool take_interrupt(int connection);
void drop_frame_pages(const struct frame *frame);
void free_frame(struct frame *frame);
const char *parse_job(const struct frame *frame, struct job *job);
void free_job(struct job *job);

/* frames.c: the result of a job, written to a growing buffer that is reused. */
struct result {
    char *data;
    size_t size, capacity;
    bool in_parts, is_void; /* a part was sent; what was sent does not count */
};

struct difference {
    bool found;
    uint64_t index, offset;
    struct slice expected, actual;
};

/* The result of one run of the compiler or the program. */
struct run_result {
    enum verdict verdict;
    int exit_code, signal; /* -1 if there is none */
    uint64_t wall_us, cpu_us, peak_kb;
    struct slice out, err;
    bool out_cut, err_cut, interrupted;
};

void begin_result(struct result *result, const char *error);
bool free_large_result(struct result *result);
void put_byte(struct result *result, uint8_t value);
void put_u32(struct result *result, uint32_t value);
void put_text(struct result *result, const char *text);
void put_run_result(struct result *result, const struct run_result *run, const struct difference *difference);
bool send_part(int connection, struct result *result);
bool send_result(int connection, struct result *result);

/* compare.c */
bool outputs_match(const struct job *job, struct slice expected, struct slice actual, struct difference *difference);

/* main.c: the options of this harness. */
struct settings {
    int connection;
    uid_t uid; /* the user of programs; 0 for the harness's own */
    const char *work, *scratch;
    const char *hold_library; /* the library of the fork server; NULL if the slot has none */
    uint64_t frame_kb; /* the current job's: memory of the harness, which counts in the peak of its children */
    bool namespaced; /* it is the first process of its pid namespace */
    bool loopback; /* programs may use TCP, which reaches only the slot */
};

extern struct settings settings;
void die(const char *what);

/* overlay.c, user_namespace.c: before the slot starts. */
bool enter_mount_namespace(void);
char **overlay_folders(char **folders);
char **bind_folders(char **folders);
void enter_user_namespace(const char *map);
bool can_enter_user_namespace(const char *map);

/* seccomp.c, privileges.c: restrictions that programs inherit and cannot undo. */
void install_filter(void);
int print_filter(bool loopback);
bool refuse_harness_calls(void);
void keep_needed_capabilities(void);
void mount_ram_disks(const char *bytes, const char *inodes);

/* mounts.c: what programs of the harness's own user may not change. */
void make_own_mounts(void);
bool has_own_mounts(void);
int stream_disk(void);
int input_disk(void);
int memory_disk(void);
bool protect_entry(const char *name);
void release_entry(const char *name);

/* memory_requests.c */
bool answers_memory_requests(void);
void listen_for_memory_requests(int fd);
int memory_requests(void);
void expect_memory_requests(bool is_compiler);
void answer_memory_request(void);

/* program_group.c */
void use_tasks_file(int fd);
void use_group_folder(int fd);
bool has_program_group(void);
bool names_group_at_start(void);
void serve_in_program_group(void (*serve)(void));
pid_t start_process(int (*run)(void *), void *argument, int *pidfd);

/* cgroup.c, slot_memory.c: what the control groups of programs, or else of the slot, count. */
void watch_cpu_cgroup(int folder);
void watch_descendants_cpu(void);
uint64_t slot_cpu_us(void);
void use_memory_limit(int fd);
bool has_memory_limit(void);
void watch_memory_cgroup(int folder);
bool counts_memory(void);
uint64_t held_memory_kb(void);
uint64_t uncounted_kb(void);
uint64_t limit_memory(uint64_t more_kb);
bool counts_oom_kills(void);
bool oom_killed_since_last_call(void);

/* spawn.c */
struct command {
    const char *path;
    char **argv, **environment;
    int in, out, err;
    uint64_t file_bytes, data_mb;
    uint32_t processes;
    bool forked; /* by the fork server, if it still runs */
};

void apply_fixed_limits(void);
const char *find_executable(const char *name, char **environment, char *buffer, size_t size);
pid_t spawn(const struct command *command, int *pidfd, int *error);

/* usage.c: the resource usage of the slot's living processes, from /proc. */
struct usage {
    uint64_t cpu_us, delay_us;
    uint64_t private_kb, shared_kb; /* without the pages of files on a disk */
    bool runnable; /* a thread runs or waits for a processor */
};

void measure_processes(pid_t program, bool memory, struct usage *usage);
bool is_resident(pid_t pid, uint64_t *kb);

/* tcp.c */
uint64_t tcp_kb(void);

/* elf.c */
uint64_t writable_mb(const char *path);

/* run.c */
struct limits {
    uint64_t time_us, file_bytes, out_bytes, memory_mb, data_mb;
    uint32_t processes;
    bool forked, interruptible;
};

struct streams {
    int in, out, err;
};

const char *run_command(const char *path, char **argv, char **environment, const struct limits *limits,
                        const struct streams *streams, struct run_result *run);
uint64_t clock_us(void);

/* memory.c: files in memory. */
int sealed_input(struct slice input);
int memory_file(void);
void hold_reserve(void);
void release_reserve(void);
bool read_output(int fd, size_t limit, struct frame *buffer, struct slice *out);
uint64_t file_size(int fd);
uint64_t file_kb(int fd);

/* wipe.c: processes and files. */
struct entry { /* of a folder, as getdents64(2) gives it */
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

bool is_dots(const char *name);
void kill_everything(void);
void kill_small_processes(void);
void open_folders(void);
void restore_folders(void);
const char *write_file(const struct file *file);
const char *keep_products(void);
bool keeps_products_read_only(void);
void forget_products(void);
bool wipe_scratch(void);
uint64_t disks_kb(void);

/* fork_server.c */
const char *prepare_fork_server(const struct job *job);
bool is_forked(const struct job *job);
pid_t fork_program(const struct command *command, int *pidfd);
pid_t fork_server_pid(void);
bool fork_server_ended(pid_t pid);
uint64_t fork_server_cpu_us(void);
const char *fork_server_refusal(void);
bool kill_all_but_fork_server(void);

/* products.c */
const char *lock_products(bool compiled);
bool products_unchanged(void);

/* job.c */
void run_job(const struct job *job, struct result *result);
void run_command_of_session(const struct job *job, struct result *result);
void clear_slot(struct result *result);

#endif
