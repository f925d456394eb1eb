/* Start-up: set up the harness in the slot that the backend made, drop unneeded privileges, and serve jobs.
 *
 * harness [--fd N | --listen PATH] [--uid N] [--work DIR] [--tmp DIR] [--mount BYTES INODES] [--cgroup DIR]
 *         [--cpu-cgroup DIR] [--hold-library FILE] [--loopback]
 * harness --join FILE... [--overlay FOLDER...] [--bind FOLDER...] [--users MAP | --users-if-allowed MAP] -- COMMAND...
 *         join cgroups (by their cgroup.procs), overlay folders or bind them (overlay.c), enter a user namespace
 *         (user_namespace.c), then execute the command
 * harness --filter [--loopback]
 *         print the system call filter as a container engine takes it (seccomp.c)
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { BIG_FRAME = 1 << 20, CGROUP_FILES = 8 };

struct settings settings = {.connection = -1, .work = "/w", .scratch = "/tmp"};
extern char **environ;

static int join_and_exec(char **arguments) {
    for (; *arguments && strncmp(*arguments, "--", 2); arguments++) {
        int fd = open(*arguments, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, "0", 1) != 1) die(*arguments);
        close(fd);
    }
    if (*arguments && !strcmp(*arguments, "--overlay")) arguments = overlay_folders(arguments + 1);
    if (*arguments && !strcmp(*arguments, "--bind")) arguments = bind_folders(arguments + 1);
    if (*arguments && arguments[1] && !strncmp(*arguments, "--users", 7)) {
        if (!strcmp(*arguments, "--users") || can_enter_user_namespace(arguments[1])) enter_user_namespace(arguments[1]);
        arguments += 2;
    }
    if (!*arguments || !arguments[1]) exit(2);
    execvp(arguments[1], arguments + 1);
    die(arguments[1]);
    return 3;
}

/* Accept the one client, and remove the socket before the first program runs. */
static int accept_one(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) exit(2);
    strcpy(address.sun_path, path);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1)) die(path);
    chmod(path, 0666); /* the client need not be root as the harness is; the folder keeps other users out */
    int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (connection < 0) die(path);
    unlink(path);
    close(listener);
    return connection;
}

static void reset_process_state(void) {
    struct stat status;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int number = 1; number < 32; number++) signal(number, SIG_DFL);
    for (int fd = 0; fd < 3; fd++)
        if (fstat(fd, &status) && open("/dev/null", O_RDWR) != fd) exit(3);
    umask(022);
}

/* Close descriptors left open by the parent, so that programs do not inherit them. */
static void close_inherited_fds(void) {
    unsigned connection = settings.connection < 3 ? 2 : (unsigned)settings.connection;
    if (connection > 3) syscall(SYS_close_range, 3U, connection - 1, 0U);
    syscall(SYS_close_range, connection + 1, ~0U, 0U);
}

static void set_home(void) {
    if (setenv("HOME", settings.scratch, 1) || setenv("TMPDIR", settings.scratch, 1)) exit(3);
}

static const char *option(int count, char **arguments, const char *name, int place) {
    for (int i = 1; i + place < count; i++)
        if (!strcmp(arguments[i], name)) return arguments[i + place];
    return NULL;
}

static bool has_flag(int count, char **arguments, const char *name) {
    for (int i = 1; i < count; i++)
        if (!strcmp(arguments[i], name)) return true;
    return false;
}

static void read_settings(int count, char **arguments) {
    const char *uid = option(count, arguments, "--uid", 1), *fd = option(count, arguments, "--fd", 1);
    const char *work = option(count, arguments, "--work", 1), *scratch = option(count, arguments, "--tmp", 1);
    settings.uid = uid ? (uid_t)strtoul(uid, NULL, 10) : 0;
    settings.namespaced = getpid() == 1;
    settings.hold_library = option(count, arguments, "--hold-library", 1);
    settings.loopback = has_flag(count, arguments, "--loopback");
    if (work) settings.work = work;
    if (scratch) settings.scratch = scratch;
    if (fd) settings.connection = atoi(fd);
}

/* End with the parent: with bwrap by a signal if in its namespace; otherwise the connection closes. */
static void end_with_parent(void) {
    if (settings.namespaced && settings.connection >= 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!settings.namespaced) prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static void connect_client(const char *path) {
    if (path) settings.connection = accept_one(path);
    if (settings.connection < 0 || fcntl(settings.connection, F_SETFD, FD_CLOEXEC)) die("harness: no connection");
    if (write(settings.connection, "", 1) != 1) die("harness: the client is gone"); /* it may now move the harness */
}

static void watch_cgroup(int folder) {
    watch_memory_cgroup(folder);
    watch_cpu_cgroup(folder);
}

/* In version 2 a group is joined by its folder; if its limit was sent, it is for programs. */
static void use_cgroup(int folder) {
    watch_cgroup(folder);
    if (has_memory_limit() && !has_program_group()) use_group_folder(folder);
    else close(folder);
}

/* A limit can be read and written, a list of threads written, and a folder neither. */
static void use_cgroup_file(int fd) {
    int access = fcntl(fd, F_GETFL);
    if (access & O_PATH) use_cgroup(fd);
    else if ((access & O_ACCMODE) == O_WRONLY) use_tasks_file(fd);
    else use_memory_limit(fd);
}

/* Use the files of the cgroups that the client sends with its first bytes, which stay to be read: limits, lists of threads,
 * then folders. Unlike mounts in the slot they can be written to, and programs cannot see them. */
static void watch_sent_cgroups(void) {
    char byte, control[CMSG_SPACE(CGROUP_FILES * sizeof(int))] __attribute__((aligned(8)));
    struct iovec bytes = {&byte, 1};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    if (recvmsg(settings.connection, &message, MSG_PEEK | MSG_CMSG_CLOEXEC) <= 0) return;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return;
    for (size_t at = 0; at + CMSG_LEN(sizeof(int)) <= header->cmsg_len; at += sizeof(int)) {
        int fd;
        memcpy(&fd, CMSG_DATA(header) + at, sizeof fd);
        use_cgroup_file(fd);
    }
}

static void watch_mounted_cgroup(const char *path) {
    int folder = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (folder < 0) return;
    watch_cgroup(folder);
    close(folder);
}

static void lock_down(void) {
    if (settings.uid && setgroups(0, NULL)) die("harness: cannot drop groups");
    keep_needed_capabilities();
    prctl(PR_SET_DUMPABLE, 0);
    install_filter();
}

/* Reset the harness's peak memory, which would count as that of each later program. */
static void reset_peak_memory(void) {
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (write(fd, "5", 1) < 0) { /* not fatal: later programs only report a higher peak */
    }
    close(fd);
}

/* Add the harness's environment, as the backend set it, to the job's, whose variables take precedence. */
static void add_harness_environment(struct job *job) {
    size_t given = 0, own = 0;
    while (job->environment[given]) given++;
    while (environ[own]) own++;
    char **all = realloc(job->environment, (given + own + 1) * sizeof *all);
    if (!all) _exit(1);
    size_t count = given;
    for (size_t i = 0; i < own; i++) {
        bool set = false;
        size_t name = strcspn(environ[i], "=") + 1;
        for (size_t k = 0; k < given && !set; k++) set = !strncmp(all[k], environ[i], name);
        if (!set) all[count++] = environ[i];
    }
    all[count] = NULL;
    job->environment = all;
}

static void handle(struct job *job, struct result *result) {
    if (job->request == CLEAR) {
        clear_slot(result);
        return;
    }
    add_harness_environment(job);
    if (job->request == RUN_COMMAND) run_command_of_session(job, result);
    else run_job(job, result);
}

static bool serve_job(struct result *result) {
    struct frame frame;
    struct job job;
    if (!read_frame(settings.connection, &frame)) return false;
    const char *error = parse_job(&frame, &job);
    if (!error && job.request == INTERRUPT) { /* its command has ended, and was replied to */
        free_frame(&frame);
        return true;
    }
    settings.frame_kb = frame.size >> 10;
    if (error) begin_result(result, error);
    else handle(&job, result);
    free_job(&job);
    bool big = frame.size > BIG_FRAME;
    free_frame(&frame);
    bool sent = send_result(settings.connection, result);
    if (free_large_result(result) || big) reset_peak_memory();
    return sent;
}

static void serve_jobs(void) {
    struct result result = {0};
    while (serve_job(&result)) {
    }
    kill_everything();
}

int main(int count, char **arguments) {
    if (count > 1 && !strcmp(arguments[1], "--join")) return join_and_exec(arguments + 2);
    if (count > 1 && !strcmp(arguments[1], "--filter")) return print_filter(has_flag(count, arguments, "--loopback"));
    reset_process_state();
    read_settings(count, arguments);
    close_inherited_fds();
    set_home();
    make_own_mounts();
    end_with_parent();
    const char *bytes = option(count, arguments, "--mount", 1), *inodes = option(count, arguments, "--mount", 2);
    if (bytes && inodes && (settings.uid || has_own_mounts())) mount_ram_disks(bytes, inodes);
    open_folders();
    connect_client(option(count, arguments, "--listen", 1));
    watch_sent_cgroups();
    watch_mounted_cgroup(option(count, arguments, "--cgroup", 1));
    watch_mounted_cgroup(option(count, arguments, "--cpu-cgroup", 1));
    watch_descendants_cpu();
    lock_down();
    serve_in_program_group(serve_jobs);
    return 0;
}
