/* The threads that an interpreter starts before it is held. A fork has none of them, so those that can be are started
 * anew in it: a thread that was given nothing and waits for signals, as Julia's does, has no state but where it waits. */
#define _GNU_SOURCE
#include "preload.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 16, ATTEMPTS = 100, PAUSE_NS = 10 * 1000 * 1000 };

struct thread {
    void *(*start)(void *);
    sigset_t blocked; /* at its start */
    pid_t id;
    bool is_waiting;
};

static struct thread threads[MAX_THREADS];
static size_t thread_count;

static void *run(void *thread) {
    struct thread *self = thread;
    self->id = (pid_t)syscall(SYS_gettid);
    return self->start(NULL);
}

EXPORT int pthread_create(pthread_t *handle, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    take_variables();
    bool is_plain = *program_file.name && !attributes && !argument;
    size_t place = is_plain ? __atomic_fetch_add(&thread_count, 1, __ATOMIC_SEQ_CST) : MAX_THREADS;
    if (place >= MAX_THREADS) return NEXT(pthread_create)(handle, attributes, start, argument);
    struct thread *thread = &threads[place];
    thread->start = start;
    pthread_sigmask(SIG_SETMASK, NULL, &thread->blocked);
    return NEXT(pthread_create)(handle, NULL, run, thread);
}

/* --- in the held process --- */

static bool waits_for_signals(pid_t id) {
    char path[64], call[16] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", id);
    int fd = NEXT(open)(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t size = NEXT(read)(fd, call, sizeof call - 1);
    syscall(SYS_close, fd);
    return size > 0 && atoi(call) == SYS_rt_sigtimedwait;
}

/* It may still be on the way there. */
static bool comes_to_wait(pid_t id) {
    struct timespec pause = {0, PAUSE_NS};
    for (int i = 0; i < ATTEMPTS && !waits_for_signals(id); i++) nanosleep(&pause, NULL);
    return waits_for_signals(id);
}

static bool note_thread(pid_t id) {
    for (size_t i = 0; i < thread_count && i < MAX_THREADS; i++)
        if (threads[i].id == id) return threads[i].is_waiting = comes_to_wait(id);
    return false;
}

/* Note what each thread but this one needs to be started anew; `reason` if one cannot be. */
void note_threads(char *reason) {
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks) complain(reason, "%s cannot be read", "/proc/self/task");
    for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
        pid_t id = (pid_t)atoi(entry->d_name);
        if (id && id != (pid_t)syscall(SYS_gettid) && !note_thread(id))
            complain(reason, "it has a second thread (%s), which does not only wait for signals", entry->d_name);
    }
    if (tasks) closedir(tasks);
}

/* --- in a fork --- */

static bool restart(struct thread *thread) {
    pthread_t handle;
    sigset_t own;
    pthread_sigmask(SIG_SETMASK, &thread->blocked, &own);
    int error = NEXT(pthread_create)(&handle, NULL, run, thread);
    pthread_sigmask(SIG_SETMASK, &own, NULL);
    errno = error;
    return !error;
}

bool restart_threads(void) {
    for (size_t i = 0; i < MAX_THREADS; i++)
        if (threads[i].is_waiting && !restart(&threads[i])) return false;
    return true;
}
