/* Memory files of programs where no cgroup counts memory. In place of memfd_create(2) the harness gives them a file
 * without a name on a disk of which it knows how full it is: whatever holds such a file, its memory counts.
 *
 * The first files of a program are the kernel's own, which alone can be executed while they are open for writing. Their
 * size has the limit of its outputs.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    UNCOUNTED_FILES = 2,
    KNOWN_FLAGS = MFD_CLOEXEC | MFD_ALLOW_SEALING | 8 /* MFD_NOEXEC_SEAL */ | 16 /* MFD_EXEC */
};

static int listener = -1;
static unsigned uncounted_left; /* files that the kernel may still give to the program that runs */

bool answers_memory_requests(void) { return has_own_mounts() && !counts_memory(); }

void listen_for_memory_requests(int fd) { listener = fd; }

int memory_requests(void) { return listener; }

/* Begin a run; the files of a compiler may be too large not to count. */
void expect_memory_requests(bool is_compiler) { uncounted_left = is_compiler ? 0 : UNCOUNTED_FILES; }

static void respond(const struct seccomp_notif *request, int error, uint32_t flags) {
    struct seccomp_notif_resp response = {.id = request->id, .error = -error, .flags = flags};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response)) { /* its process has been killed */
    }
}

/* Unlike the kernel's own it takes no seals. */
static bool give(const struct seccomp_notif *request, int file) {
    struct seccomp_notif_addfd given = {.id = request->id, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = (uint32_t)file};
    if (request->data.args[1] & MFD_CLOEXEC) given.newfd_flags = O_CLOEXEC;
    return file >= 0 && ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &given) >= 0;
}

static void give_counted_file(const struct seccomp_notif *request) {
    int file = openat(memory_disk(), ".", O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0700);
    if (!give(request, file)) respond(request, errno, 0);
    if (file >= 0) close(file);
}

static void answer(const struct seccomp_notif *request) {
    if (request->data.args[1] & ~(uint64_t)KNOWN_FLAGS) respond(request, EINVAL, 0);
    else if (uncounted_left) respond(request, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE), uncounted_left--;
    else give_counted_file(request);
}

/* Answer one request, if the process that made it still waits. */
void answer_memory_request(void) {
    union {
        struct seccomp_notif request;
        char space[512]; /* of a later kernel, too */
    } asked = {.space = {0}};
    if (!ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked)) answer(&asked.request);
}
