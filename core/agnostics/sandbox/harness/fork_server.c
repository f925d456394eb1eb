/* The fork server: an interpreter that is started once in a slot, held where it first uses the program's file
 * (preload/), and forked for each test. It has never seen a program.
 *
 * It is out of reach of its forks: it has a user of its own, so that they can neither signal nor trace it, and they share
 * no descriptor and no writable memory with it. They are children of the harness, as programs that are executed.
 */
#include "harness.h"

#include "fork_server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* HOLDER is the user of held interpreters, below those of slots (slot_users.py); MAX_MB is the memory that a slot has for
 * one beside its programs' (worker.py). */
enum { HOLDER = 29999, START_MS = 20000, REPLY_MS = 10000, MAX_MB = 192, MAX_FOLDERS = 8, MAX_FAILURES = 3 };

struct folder {
    char name[64];
    mode_t mode;
};

static pid_t held; /* 0 if there is none */
static int control = -1;
static int children = -1, orphans = -1; /* lists: of this thread, and of the first, if that is another */
static uint64_t held_key, held_us, ended_us;
static struct folder folders[MAX_FOLDERS]; /* those that it made in the scratch folder when it started */
static size_t folder_count;
static char refusal[256];
static unsigned failures; /* of forks in this slot */

pid_t fork_server_pid(void) { return held; }

const char *fork_server_refusal(void) { return refusal; }

bool is_forked(const struct job *job) { return held && *job->hold_at; }

/* --- its processor time, which is no program's --- */

uint64_t fork_server_cpu_us(void) {
    struct timespec own;
    clockid_t clock = (clockid_t)(~(unsigned)held << 3 | 2); /* clock_getcpuclockid(3) */
    if (held && !clock_gettime(clock, &own))
        held_us = (uint64_t)own.tv_sec * 1000000 + (uint64_t)own.tv_nsec / 1000;
    return ended_us + held_us;
}

static void forget(void) {
    ended_us += held_us;
    held_us = 0, held = 0;
    if (control >= 0) close(control);
    control = -1;
}

bool fork_server_ended(pid_t pid) {
    if (!held || pid != held) return false;
    forget();
    return true;
}

static void stop(void) {
    fork_server_cpu_us();
    forget();
    kill_everything();
}

/* --- the end of programs, without its own --- */

/* A program can neither signal this process, by whose real and saved user it would have to be, nor stop it. */
static int kill_as_slot_user(void *unused) {
    (void)unused;
    if (syscall(SYS_setresuid, 0, settings.uid, 0)) _exit(1);
    kill(-1, SIGKILL);
    _exit(0);
}

static bool kill_programs(void) {
    static char stack[16 << 10] __attribute__((aligned(16)));
    int status = 0;
    pid_t pid = clone(kill_as_slot_user, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}

static size_t read_list(int fd, char *list, size_t size) {
    ssize_t got = fd < 0 ? 0 : pread(fd, list, size, 0);
    return got > 0 ? (size_t)got : 0;
}

/* Whether it is the harness's only child: the namespace then has no other process, since all descend from these two, and
 * it has no children. Where the kernel does not tell, it is given up. */
static bool is_alone(void) {
    char list[128], expected[32];
    size_t size = read_list(children, list, sizeof list / 2);
    size += read_list(orphans, list + size, sizeof list / 2 - 1);
    if (!size) forget();
    list[size] = 0;
    snprintf(expected, sizeof expected, "%d ", held);
    return held && !strcmp(list, expected);
}

static void reap(int options) {
    pid_t pid = waitpid(-1, NULL, options);
    while (pid > 0) {
        fork_server_ended(pid);
        pid = waitpid(-1, NULL, WNOHANG);
    }
}

/* Kill every process but the harness and the held interpreter. False if there is none (any more). */
bool kill_all_but_fork_server(void) {
    fork_server_cpu_us();
    if (!held || is_alone()) return held;
    if (!kill_programs()) forget();
    while (held && !is_alone()) reap(0);
    return held;
}

/* --- its start --- */

static bool hold_capabilities(void) {
    uint32_t kept = 1U << CAP_SETUID | 1U << CAP_SETGID;
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{kept, kept, kept}, {0, 0, 0}};
    return !syscall(SYS_capset, &header, data) && !prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SETUID, 0, 0) &&
           !prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SETGID, 0, 0);
}

struct start {
    const char *path;
    char **argv, **environment;
    int in, out, err, control;
    volatile int error;
};

/* The interpreter keeps two capabilities, with which its forks become the slot's user and give them up. */
static int exec_interpreter(void *argument) {
    struct start *start = argument;
    setsid();
    apply_fixed_limits();
    bool connected = dup2(start->in, 0) == 0 && dup2(start->out, 1) == 1 && dup2(start->err, 2) == 2 &&
                     dup2(start->control, HOLD_FD) == HOLD_FD;
    bool is_holder = connected && !prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) &&
                     !syscall(SYS_setresgid, HOLDER, HOLDER, HOLDER) && !syscall(SYS_setresuid, HOLDER, HOLDER, HOLDER);
    if (is_holder && hold_capabilities() && refuse_harness_calls())
        execve(start->path, start->argv, start->environment);
    start->error = errno;
    _exit(127);
}

static bool spawn_interpreter(struct start *start) {
    pid_t pid = start_process(exec_interpreter, start, NULL);
    if (pid > 0) held = pid;
    return pid > 0 && !start->error;
}

static bool receive(struct fork_reply *reply, int timeout_ms) {
    uint64_t end_us = clock_us() + timeout_ms * 1000UL;
    for (;;) {
        struct pollfd ready = {control, POLLIN, 0};
        uint64_t now_us = clock_us();
        int count = now_us < end_us ? poll(&ready, 1, (int)((end_us - now_us) / 1000) + 1) : 0;
        if (count < 0 && errno == EINTR) continue;
        return count > 0 && recv(control, reply, sizeof *reply, MSG_DONTWAIT) == (ssize_t)sizeof *reply;
    }
}

/* The memory that it takes beside files that are mapped. */
static uint64_t memory_mb(void) {
    char path[64];
    unsigned long resident = 0, shared = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", held);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%*u %lu %lu", &resident, &shared) != 2) resident = shared = 0;
    if (file) fclose(file);
    return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) >> 20;
}

static const char *await_hold(const struct start *start) {
    static struct fork_reply reply;
    if (!receive(&reply, START_MS)) return "the interpreter did not come to read the program's file";
    reply.reason[REASON_BYTES - 1] = 0;
    if (*reply.reason) return reply.reason;
    if (reply.pid != held) return "the command starts the interpreter as a further process";
    if (file_size(start->out) || file_size(start->err)) return "the interpreter prints something at its start";
    if (memory_mb() > MAX_MB) return "the interpreter takes more memory at its start than slots have for it";
    return NULL;
}

/* Note a folder that the interpreter made; each fork gets it anew. */
static bool note_folder(int scratch, const char *name) {
    struct stat status;
    struct folder *folder = &folders[folder_count];
    bool fits = folder_count < MAX_FOLDERS && strlen(name) < sizeof folder->name;
    if (!fits || fstatat(scratch, name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(status.st_mode)) return false;
    if (unlinkat(scratch, name, AT_REMOVEDIR)) return false; /* it has entries */
    strcpy(folder->name, name);
    folder->mode = status.st_mode & 07777;
    folder_count++;
    return true;
}

static const char *note_folders(void) {
    int scratch = open(settings.scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = scratch < 0 ? NULL : fdopendir(scratch);
    bool noted = entries;
    folder_count = 0;
    for (struct dirent *entry; noted && (entry = readdir(entries));)
        noted = is_dots(entry->d_name) || note_folder(scratch, entry->d_name);
    if (entries) closedir(entries);
    return noted ? NULL : "the interpreter writes files at its start";
}

static bool make_folders(void) {
    char path[4096];
    for (size_t i = 0; i < folder_count; i++) {
        snprintf(path, sizeof path, "%s/%s", settings.scratch, folders[i].name);
        bool made = !mkdir(path, 0700) && !chown(path, settings.uid, settings.uid);
        if (!made || chmod(path, folders[i].mode)) return false;
    }
    return true;
}

/* The environment with the library's variables, last (preload/hold.c). */
static char **extended_environment(const struct job *job, char *preload, char *hold) {
    size_t count = 0;
    while (job->environment[count]) count++;
    char **all = malloc((count + 3) * sizeof *all);
    if (!all) _exit(1);
    memcpy(all, job->environment, count * sizeof *all);
    all[count] = preload, all[count + 1] = hold, all[count + 2] = NULL;
    return all;
}

static const char *start_interpreter(const struct job *job, struct start *start) {
    char buffer[4096], preload[4096], hold[512];
    start->path = find_executable(job->hold_execute[0], job->environment, buffer, sizeof buffer);
    if (!start->path) return "the interpreter is not installed";
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", settings.hold_library);
    snprintf(hold, sizeof hold, "%s=%s", HOLD_VARIABLE, job->hold_at);
    start->argv = job->hold_execute, start->environment = extended_environment(job, preload, hold);
    bool started = spawn_interpreter(start);
    free(start->environment);
    return started ? NULL : "the interpreter cannot be started";
}

static const char *start_connected(const struct job *job) {
    int ends[2];
    limit_memory(2 * MAX_MB << 10);
    struct start start = {.in = sealed_input((struct slice){"", 0}), .out = memory_file(), .err = memory_file()};
    bool has_streams = start.in >= 0 && start.out >= 0 && start.err >= 0;
    if (!has_streams || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return "there is no memory for its streams";
    control = ends[0], start.control = ends[1];
    const char *reason = start_interpreter(job, &start);
    close(ends[1]);
    if (!reason) reason = await_hold(&start);
    close(start.in), close(start.out), close(start.err);
    return reason ? reason : note_folders();
}

static bool sets_preload(const struct job *job) {
    for (char **variable = job->environment; *variable; variable++)
        if (!strncmp(*variable, "LD_PRELOAD=", strlen("LD_PRELOAD="))) return true;
    return false;
}

static bool open_children(void) {
    char path[64];
    bool is_first = syscall(SYS_gettid) == getpid();
    snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
    if (children < 0) children = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    if (orphans < 0 && !is_first) orphans = open(path, O_RDONLY | O_CLOEXEC);
    return children >= 0 && (orphans >= 0 || is_first);
}

static const char *unsupported(const struct job *job) {
    if (!settings.uid || !settings.namespaced) return "it needs a second user, which this sandbox does not have";
    if (!settings.hold_library) return "the slot was started without its library";
    if (sets_preload(job)) return "the language sets LD_PRELOAD";
    int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (self < 0) return "this kernel has no descriptors of processes";
    close(self);
    return open_children() ? NULL : "this kernel does not list the children of processes";
}

/* Start it with the files that stand beside every program, and an empty one in the program's place. */
static const char *start_with_files(const struct job *job) {
    const char *reason = unsupported(job);
    if (reason) return reason;
    struct file empty = {job->hold_at, {"", 0}};
    for (size_t i = 0; !reason && i < job->file_count; i++)
        reason = write_file(strcmp(job->files[i].name, job->hold_at) ? &job->files[i] : &empty);
    for (size_t i = 0; !reason && i < job->hold_file_count; i++) reason = write_file(&job->hold_files[i]);
    return reason ? reason : start_connected(job);
}

static uint64_t hash_bytes(uint64_t key, struct slice bytes) {
    for (size_t i = 0; i < bytes.size; i++) key = (key ^ (unsigned char)bytes.data[i]) * 0x100000001b3U;
    return key;
}

static uint64_t hash(uint64_t key, const char *text) { return hash_bytes(key, (struct slice){text, strlen(text) + 1}); }

static uint64_t key_of(const struct job *job) {
    uint64_t key = hash(0xcbf29ce484222325U, job->hold_at);
    for (char **word = job->hold_execute; *word; word++) key = hash(key, *word);
    for (size_t i = 0; i < job->hold_file_count; i++)
        key = hash_bytes(hash(key, job->hold_files[i].name), job->hold_files[i].data);
    for (char **variable = job->environment; *variable; variable++) key = hash(key, *variable);
    return key;
}

/* Start the interpreter that the job asks for, unless it is held already. If that is not possible, its programs are
 * executed like any other. The folders are empty before and after. Returns NULL, or the error. */
const char *prepare_fork_server(const struct job *job) {
    if (!*job->hold_at || *refusal) return NULL;
    if (held && held_key == key_of(job)) return NULL;
    if (held) stop();
    const char *reason = start_with_files(job);
    held_key = key_of(job);
    if (reason) snprintf(refusal, sizeof refusal, "%s", reason);
    if (reason) stop();
    return wipe_scratch() ? NULL : "cannot clear the folders after the start of an interpreter";
}

/* --- a fork --- */

static bool request(const struct command *command) {
    int streams[3] = {command->in, command->out, command->err};
    struct fork_request request = {settings.uid, command->processes, command->file_bytes, command->data_mb};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof streams)];
    } message = {.space = {0}};
    struct iovec data = {&request, sizeof request};
    struct msghdr all = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &message, .msg_controllen = sizeof message};
    message.header.cmsg_level = SOL_SOCKET, message.header.cmsg_type = SCM_RIGHTS;
    message.header.cmsg_len = CMSG_LEN(sizeof streams);
    memcpy(CMSG_DATA(&message.header), streams, sizeof streams);
    return sendmsg(control, &all, MSG_NOSIGNAL) == (ssize_t)sizeof request;
}

/* Fork the held interpreter for a program. Returns its pid, with a descriptor that becomes readable when it ends; -1 if
 * that failed, and the interpreter is gone. */
pid_t fork_program(const struct command *command, int *pidfd) {
    struct fork_reply reply = {.pid = -1};
    bool forked = held && make_folders() && request(command) && receive(&reply, REPLY_MS) && !reply.error;
    *pidfd = forked ? (int)syscall(SYS_pidfd_open, reply.pid, 0) : -1;
    if (*pidfd >= 0) return reply.pid;
    if (held) stop();
    if (++failures == MAX_FAILURES) snprintf(refusal, sizeof refusal, "forks of the interpreter failed several times");
    return -1;
}
