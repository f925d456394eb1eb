/* The bare limit that a sandbox is measured against: fork, exec, feed stdin, read stdout, compare. No isolation, no
 * limits, nothing wiped. Jobs come as the harness takes them (sandbox/harness/frames.c), one after another on stdin;
 * for each a line goes out, whether every test was right and the microseconds that it took.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static struct frame output;

int memory_file(void) { return memfd_create("frame", MFD_CLOEXEC); } /* the harness may keep its own on a disk */

static uint64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Start a command with its stdin, stdout and stderr. */
static pid_t start(char **argv, int in, int out, int err) {
    posix_spawn_file_actions_t actions;
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, err, 2);
    if (posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ)) die(argv[0]);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

static bool succeeded(pid_t pid) {
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) die("waitpid");
    return WIFEXITED(status) && !WEXITSTATUS(status);
}

/* Give all of `input`, and take what comes until the other end closes. */
static struct slice converse(int to, int from, struct slice input) {
    size_t got = 0;
    if (!input.size) close(to), to = -1;
    for (;;) {
        struct pollfd ends[] = {{from, POLLIN, 0}, {to, POLLOUT, 0}};
        if (poll(ends, 2, -1) < 0) die("poll");
        if (ends[1].revents) {
            ssize_t now = write(to, input.data, input.size);
            if (now > 0) input.data += now, input.size -= (size_t)now;
            if (now < 0 || !input.size) close(to), to = -1;
        }
        if (!ends[0].revents) continue;
        if (output.size - got < 65536 && !(output.data = realloc(output.data, output.size += 1 << 20))) die("realloc");
        ssize_t now = read(from, output.data + got, output.size - got);
        if (now <= 0) break;
        got += (size_t)now;
    }
    if (to >= 0) close(to);
    return (struct slice){output.data, got};
}

static bool passes(const struct job *job, const struct test *test, int null) {
    int in[2], out[2];
    struct difference unused;
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) die("pipe");
    pid_t pid = start(job->execute, in[0], out[1], null);
    close(in[0]), close(out[1]);
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    struct slice said = converse(in[1], out[0], test->input);
    close(out[0]);
    return succeeded(pid) && outputs_match(job, test->expected, said, &unused);
}

static void write_program(const struct file *file) {
    int fd = open(file->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, file->data.data, file->data.size) != (ssize_t)file->data.size || close(fd)) die(file->name);
}

static bool do_bare(const struct job *job, int null) {
    bool right = true;
    for (size_t i = 0; i < job->file_count; i++) write_program(&job->files[i]);
    if (job->compile[0] && !succeeded(start(job->compile, null, null, null))) return false;
    for (size_t i = 0; i < job->test_count; i++) right = passes(job, &job->tests[i], null) && right;
    return right;
}

int main(void) {
    struct frame frame;
    struct job job;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    signal(SIGPIPE, SIG_IGN);
    while (read_frame(0, &frame)) {
        uint64_t begun = now_us();
        const char *error = parse_job(&frame, &job);
        if (error) die(error);
        bool right = do_bare(&job, null);
        printf("%d %llu\n", right, (unsigned long long)(now_us() - begun));
        fflush(stdout);
        free_job(&job);
        free_frame(&frame);
    }
    return 0;
}
