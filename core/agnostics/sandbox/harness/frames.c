/* Frames: a little-endian u32 length, then the body. Bytes are u32 length + data; texts likewise, with a final NUL.
 * Every size in a frame is checked against the bytes that remain before it is used. */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { VERSION = 6, MAX_FRAME = 1 << 28, KEPT_BYTES = 1 << 20, LARGE_FRAME = 256 << 10, EXCERPT = 80, PART_BYTES = 1 << 20 };

/* Flags in the length of a frame: more of the result follows; the parts sent before do not count. */
static const uint32_t PART = 1U << 31, VOID = 1U << 30;

static bool read_exactly(int fd, char *to, size_t size) {
    while (size > 0) {
        ssize_t got = read(fd, to, size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got, size -= (size_t)got;
    }
    return true;
}

/* Allocate a frame. A large one is a file in memory: its pages can be dropped, and return when they are read. */
static char *allocate_frame(size_t size) {
    if (size <= LARGE_FRAME) return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd = memory_file();
    bool sized = fd >= 0 && !ftruncate(fd, (off_t)size);
    char *data = sized ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (fd >= 0) close(fd);
    return data;
}

/* Read the next frame. False if the peer is gone or sends no frame: there is nobody to reply to. */
bool read_frame(int connection, struct frame *frame) {
    uint32_t size;
    if (!read_exactly(connection, (char *)&size, sizeof size) || size > MAX_FRAME) return false;
    frame->size = size;
    frame->data = allocate_frame(size + 1UL);
    if (frame->data == MAP_FAILED) return false;
    return read_exactly(connection, frame->data, size);
}

/* Take the next frame from the connection if it is an interrupt that has arrived whole; any other one stays to be read. */
bool take_interrupt(int connection) {
    static const uint32_t interrupt[] = {2 * sizeof(uint32_t), VERSION, INTERRUPT};
    uint32_t next[3];
    bool is_next = recv(connection, next, sizeof next, MSG_PEEK | MSG_DONTWAIT) == sizeof next;
    return is_next && !memcmp(next, interrupt, sizeof next) && read_exactly(connection, (char *)next, sizeof next);
}

/* Drop the frame's pages while a program runs: when memory runs out the kernel kills the largest of the processes with
 * the same oom_score_adj, and a program may set its own to the harness's. */
void drop_frame_pages(const struct frame *frame) {
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

/* Read a count and allocate an array for it; each element takes at least `least` bytes of the frame. */
static void *take_array(struct reader *reader, uint32_t *count, size_t least, size_t size) {
    *count = take_u32(reader);
    if (*count > (size_t)(reader->end - reader->at) / least) reader->bad = true, *count = 0;
    void *array = calloc(*count + 1UL, size);
    if (!array) reader->bad = true, *count = 0;
    return array;
}

static char **take_texts(struct reader *reader) {
    uint32_t count;
    char **texts = take_array(reader, &count, 5, sizeof *texts);
    for (uint32_t i = 0; i < count; i++) texts[i] = take_text(reader);
    return texts;
}

static struct file *take_files(struct reader *reader, size_t *file_count) {
    uint32_t count;
    struct file *files = take_array(reader, &count, 9, sizeof *files);
    for (uint32_t i = 0; i < count; i++) {
        files[i].name = take_text(reader);
        files[i].data = take_bytes(reader);
        const char *name = files[i].name;
        if (!*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, "..")) reader->bad = true;
    }
    *file_count = count;
    return files;
}

static void take_tests(struct reader *reader, struct job *job) {
    uint32_t count;
    job->tests = take_array(reader, &count, 8, sizeof *job->tests);
    for (uint32_t i = 0; i < count; i++) {
        job->tests[i].input = take_bytes(reader);
        job->tests[i].expected = take_bytes(reader);
    }
    job->test_count = count;
}

static void take_program(struct reader *reader, struct job *job) {
    job->mode = (enum compare_mode)take_u32(reader);
    job->stop_on_failure = take_u32(reader) != 0;
    job->run_ms = take_u32(reader), job->compile_ms = take_u32(reader);
    job->memory_mb = take_u32(reader), job->compile_mb = take_u32(reader), job->data_mb = take_u32(reader);
    job->processes = take_u32(reader);
    job->output_bytes = take_u32(reader), job->keep_bytes = take_u32(reader);
    job->absolute = take_double(reader), job->relative = take_double(reader);
    job->hold_at = take_text(reader);
    job->hold_execute = take_texts(reader);
    job->hold_files = take_files(reader, &job->hold_file_count);
    job->files = take_files(reader, &job->file_count);
    job->compile = take_texts(reader);
    job->execute = take_texts(reader);
    job->environment = take_texts(reader);
    take_tests(reader, job);
    if (job->file_count == 0 || job->test_count == 0) reader->bad = true;
}

static void take_command(struct reader *reader, struct job *job) {
    job->mode = COMPARE_NOTHING, job->hold_at = "";
    job->run_ms = take_u32(reader), job->memory_mb = take_u32(reader), job->data_mb = take_u32(reader);
    job->processes = take_u32(reader);
    job->output_bytes = job->keep_bytes = take_u32(reader);
    job->execute = take_texts(reader);
    job->environment = take_texts(reader);
    job->command_input = take_bytes(reader);
}

static bool is_complete(const struct job *job) {
    return job->mode < COMPARE_MODES && job->execute[0] && (!*job->hold_at || job->hold_execute[0]);
}

/* Parse a request. Returns NULL, or the error in the frame; for an empty frame, with which a client checks that the harness
 * replies, the error is empty. */
const char *parse_job(const struct frame *frame, struct job *job) {
    struct reader reader = {frame->data, frame->data + frame->size, false};
    memset(job, 0, sizeof *job);
    job->frame = frame;
    if (frame->size == 0) return "";
    if (take_u32(&reader) != VERSION) return "the frame is of another version of the protocol";
    uint32_t request = take_u32(&reader);
    job->request = (enum request)request;
    if (request == RUN_PROGRAM) take_program(&reader, job);
    else if (request == RUN_COMMAND) take_command(&reader, job);
    bool whole = !reader.bad && reader.at == reader.end && request < REQUESTS;
    return whole && (request >= CLEAR || is_complete(job)) ? NULL : "the frame is malformed";
}

void free_job(struct job *job) {
    free(job->files), free(job->tests), free(job->hold_files), free(job->hold_execute);
    free(job->compile), free(job->execute), free(job->environment);
    memset(job, 0, sizeof *job);
}

static void put(struct result *result, const void *data, size_t size) {
    if (size == 0) return;
    if (result->size + size > result->capacity) {
        result->capacity = 2 * (result->size + size) + 4096;
        result->data = realloc(result->data, result->capacity);
        if (!result->data) _exit(1); /* the client sees the connection close, and runs the job elsewhere */
    }
    memcpy(result->data + result->size, data, size);
    result->size += size;
}

void put_byte(struct result *result, uint8_t value) { put(result, &value, sizeof value); }
void put_u32(struct result *result, uint32_t value) { put(result, &value, sizeof value); }
static void put_u64(struct result *result, uint64_t value) { put(result, &value, sizeof value); }

static void put_bytes(struct result *result, struct slice bytes) {
    put_u32(result, (uint32_t)bytes.size);
    put(result, bytes.data, bytes.size);
}

void put_text(struct result *result, const char *text) { put_bytes(result, (struct slice){text, strlen(text)}); }

static struct slice excerpt(struct slice text) {
    return (struct slice){text.data ? text.data : "", text.size > EXCERPT ? EXCERPT : text.size};
}

/* Start a result: `error` is empty if the job was run, else the reason why it could not be; parts of it that were sent
 * are then void. */
/* Free the memory of a large result; false if it is small, whose memory the next one uses. */
bool free_large_result(struct result *result) {
    if (result->capacity <= KEPT_BYTES) return false;
    free(result->data);
    result->data = NULL, result->capacity = 0;
    return true;
}

void begin_result(struct result *result, const char *error) {
    if (result->in_parts) result->is_void = true;
    free_large_result(result);
    result->size = 0;
    put_u32(result, 0);
    put_text(result, error);
}

void put_run_result(struct result *result, const struct run_result *run, const struct difference *difference) {
    put_byte(result, (uint8_t)run->verdict);
    put_byte(result, (uint8_t)((run->out_cut || run->err_cut) | run->interrupted << 1));
    put_u32(result, (uint32_t)run->exit_code);
    put_u32(result, (uint32_t)run->signal);
    put_u64(result, run->wall_us);
    put_u64(result, run->cpu_us);
    put_u64(result, run->peak_kb);
    put_bytes(result, run->out);
    put_bytes(result, run->err);
    put_byte(result, difference && difference->found);
    if (!difference || !difference->found) return;
    put_u64(result, difference->index);
    put_u64(result, difference->offset);
    put_bytes(result, excerpt(difference->expected));
    put_bytes(result, excerpt(difference->actual));
}

static bool send_frame(int connection, struct result *result, uint32_t flags) {
    uint32_t size = (uint32_t)(result->size - sizeof size) | flags | (result->is_void ? VOID : 0);
    memcpy(result->data, &size, sizeof size);
    result->is_void = false;
    for (size_t sent = 0; sent < result->size;) {
        ssize_t now = send(connection, result->data + sent, result->size - sent, MSG_NOSIGNAL);
        if (now < 0 && errno == EINTR) continue;
        if (now < 0) return false;
        sent += (size_t)now;
    }
    return true;
}

/* Send what there is of a large result, so that a program whose outputs are returned whole does not fill the slot. */
bool send_part(int connection, struct result *result) {
    if (result->size < PART_BYTES) return true;
    if (!send_frame(connection, result, PART)) return false;
    result->in_parts = true;
    result->size = sizeof(uint32_t);
    return true;
}

bool send_result(int connection, struct result *result) {
    bool sent = send_frame(connection, result, 0);
    result->in_parts = false;
    return sent;
}
