/* Frames: a little-endian u32 length, then the body. Bytes are u32 length + data; texts likewise, with a final NUL.
 * Nothing that a frame claims is believed before it is checked against what is left of it. */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { VERSION = 1, MAX_FRAME = 1 << 28, KEPT_ROOM = 1 << 20, LARGE_FRAME = 256 << 10, EXCERPT = 80 };

static bool read_exactly(int fd, char *to, size_t size) {
    while (size > 0) {
        ssize_t got = read(fd, to, size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got, size -= (size_t)got;
    }
    return true;
}

/* Room for a frame. A large one is a file in memory, whose pages can be let go of and come back when they are read. */
static char *frame_room(size_t size) {
    if (size <= LARGE_FRAME) return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd = memfd_create("frame", MFD_CLOEXEC);
    bool sized = fd >= 0 && !ftruncate(fd, (off_t)size);
    char *room = sized ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (fd >= 0) close(fd);
    return room;
}

/* The next frame. False: the peer is gone, or what it sends is no frame; there is nobody to answer. */
bool read_frame(int connection, struct frame *frame) {
    uint32_t size;
    if (!read_exactly(connection, (char *)&size, sizeof size) || size > MAX_FRAME) return false;
    frame->size = size;
    frame->data = frame_room(size + 1UL);
    if (frame->data == MAP_FAILED) return false;
    return read_exactly(connection, frame->data, size);
}

/* Be small while a program runs: of processes that are equally dear the kernel takes the largest when memory runs out,
 * and a program may make itself as dear as we are. */
void let_go_of_frame(const struct frame *frame) {
    if (frame->size + 1UL > LARGE_FRAME) madvise(frame->data, frame->size + 1UL, MADV_DONTNEED);
}

void free_frame(struct frame *frame) {
    munmap(frame->data, frame->size + 1UL);
    frame->data = NULL;
}

struct reader {
    const char *at, *end;
    bool bad;
};

static const char *take(struct reader *reader, size_t size) {
    if (reader->bad || size > (size_t)(reader->end - reader->at)) {
        reader->bad = true;
        return NULL;
    }
    const char *data = reader->at;
    reader->at += size;
    return data;
}

static uint32_t take_u32(struct reader *reader) {
    uint32_t value = 0;
    const char *data = take(reader, sizeof value);
    if (data) memcpy(&value, data, sizeof value);
    return value;
}

static double take_double(struct reader *reader) {
    double value = 0;
    const char *data = take(reader, sizeof value);
    if (data) memcpy(&value, data, sizeof value);
    return value;
}

static struct slice take_bytes(struct reader *reader) {
    uint32_t size = take_u32(reader);
    const char *data = take(reader, size);
    return (struct slice){data ? data : "", data ? size : 0};
}

static char *take_text(struct reader *reader) {
    struct slice bytes = take_bytes(reader);
    bool whole = bytes.size > 0 && memchr(bytes.data, 0, bytes.size) == bytes.data + bytes.size - 1;
    if (!whole) reader->bad = true;
    return whole ? (char *)bytes.data : (char *)"";
}

/* Room for `count` things of which each takes at least `least` bytes of the frame. */
static void *room_for(struct reader *reader, uint32_t *count, size_t least, size_t size) {
    *count = take_u32(reader);
    if (*count > (size_t)(reader->end - reader->at) / least) reader->bad = true, *count = 0;
    void *room = calloc(*count + 1UL, size);
    if (!room) reader->bad = true, *count = 0;
    return room;
}

static char **take_texts(struct reader *reader) {
    uint32_t count;
    char **texts = room_for(reader, &count, 5, sizeof *texts);
    for (uint32_t i = 0; i < count; i++) texts[i] = take_text(reader);
    return texts;
}

static void take_files(struct reader *reader, struct job *job) {
    uint32_t count;
    job->files = room_for(reader, &count, 9, sizeof *job->files);
    for (uint32_t i = 0; i < count; i++) {
        job->files[i].name = take_text(reader);
        job->files[i].data = take_bytes(reader);
        const char *name = job->files[i].name;
        if (!*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, "..")) reader->bad = true;
    }
    job->file_count = count;
}

static void take_tests(struct reader *reader, struct job *job) {
    uint32_t count;
    job->tests = room_for(reader, &count, 8, sizeof *job->tests);
    for (uint32_t i = 0; i < count; i++) {
        job->tests[i].input = take_bytes(reader);
        job->tests[i].expected = take_bytes(reader);
    }
    job->test_count = count;
}

/* Parse a job. The answer is NULL, or what is wrong with the frame: nothing at all ("") with an empty one, a sign of
 * life that the client may ask for. */
const char *parse_job(const struct frame *frame, struct job *job) {
    struct reader reader = {frame->data, frame->data + frame->size, false};
    memset(job, 0, sizeof *job);
    job->frame = frame;
    if (frame->size == 0) return "";
    if (take_u32(&reader) != VERSION) return "the frame is of another version of the protocol";
    uint32_t mode = take_u32(&reader);
    job->mode = (enum compare_mode)mode;
    job->stop_on_failure = take_u32(&reader) != 0;
    job->run_ms = take_u32(&reader), job->compile_ms = take_u32(&reader);
    job->memory_mb = take_u32(&reader), job->compile_mb = take_u32(&reader), job->data_mb = take_u32(&reader);
    job->processes = take_u32(&reader);
    job->output_bytes = take_u32(&reader), job->keep_bytes = take_u32(&reader);
    job->absolute = take_double(&reader), job->relative = take_double(&reader);
    take_files(&reader, job);
    job->compile = take_texts(&reader);
    job->execute = take_texts(&reader);
    job->environment = take_texts(&reader);
    take_tests(&reader, job);
    bool whole = !reader.bad && reader.at == reader.end && mode < COMPARE_MODES && job->file_count > 0 &&
                 job->execute[0] && job->test_count > 0;
    return whole ? NULL : "the frame is malformed";
}

void free_job(struct job *job) {
    free(job->files), free(job->tests);
    free(job->compile), free(job->execute), free(job->environment);
    memset(job, 0, sizeof *job);
}

static void put(struct answer *answer, const void *data, size_t size) {
    if (size == 0) return;
    if (answer->size + size > answer->room) {
        answer->room = 2 * (answer->size + size) + 4096;
        answer->data = realloc(answer->data, answer->room);
        if (!answer->data) _exit(1); /* the client sees the connection close, and runs the job elsewhere */
    }
    memcpy(answer->data + answer->size, data, size);
    answer->size += size;
}

void put_byte(struct answer *answer, uint8_t value) { put(answer, &value, sizeof value); }
void put_u32(struct answer *answer, uint32_t value) { put(answer, &value, sizeof value); }
static void put_u64(struct answer *answer, uint64_t value) { put(answer, &value, sizeof value); }

static void put_bytes(struct answer *answer, struct slice bytes) {
    put_u32(answer, (uint32_t)bytes.size);
    put(answer, bytes.data, bytes.size);
}

static struct slice excerpt(struct slice text) {
    return (struct slice){text.data ? text.data : "", text.size > EXCERPT ? EXCERPT : text.size};
}

/* Start an answer: an empty `error` where the job was done, else why it could not be. */
void begin_answer(struct answer *answer, const char *error) {
    if (answer->room > KEPT_ROOM) free(answer->data), answer->data = NULL, answer->room = 0;
    answer->size = 0;
    put_u32(answer, 0);
    put_bytes(answer, (struct slice){error, strlen(error)});
}

void put_outcome(struct answer *answer, const struct outcome *outcome, const struct difference *difference) {
    put_byte(answer, (uint8_t)outcome->verdict);
    put_byte(answer, (uint8_t)(outcome->out_cut || outcome->err_cut));
    put_u32(answer, (uint32_t)outcome->exit_code);
    put_u32(answer, (uint32_t)outcome->signal);
    put_u64(answer, outcome->wall_us);
    put_u64(answer, outcome->cpu_us);
    put_u64(answer, outcome->peak_kb);
    put_bytes(answer, outcome->out);
    put_bytes(answer, outcome->err);
    put_byte(answer, difference && difference->found);
    if (!difference || !difference->found) return;
    put_u64(answer, difference->index);
    put_u64(answer, difference->offset);
    put_bytes(answer, excerpt(difference->expected));
    put_bytes(answer, excerpt(difference->actual));
}

bool send_answer(int connection, struct answer *answer) {
    uint32_t size = (uint32_t)(answer->size - sizeof size);
    memcpy(answer->data, &size, sizeof size);
    for (size_t sent = 0; sent < answer->size;) {
        ssize_t now = send(connection, answer->data + sent, answer->size - sent, MSG_NOSIGNAL);
        if (now < 0 && errno == EINTR) continue;
        if (now < 0) return false;
        sent += (size_t)now;
    }
    return true;
}
