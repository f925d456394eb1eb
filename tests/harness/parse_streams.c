/* Reads byte streams as a harness does, parses every frame in them, and compares the outputs in the frames.
 *
 * The file argument holds streams, each after its u32 length. A frame is parsed in a block of exactly its size, so that
 * the address sanitizer detects the first byte that is read beyond its end. */
#include "harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned long frames, jobs, bytes;

int memory_file(void) { return memfd_create("frame", MFD_CLOEXEC); } /* the harness's, without its mounts */

static unsigned long total(char **texts) {
    unsigned long sum = 0;
    for (; *texts; texts++) sum += strlen(*texts);
    return sum;
}

static unsigned long sum_of(struct slice slice) {
    unsigned long sum = 0;
    for (size_t i = 0; i < slice.size; i++) sum += (unsigned char)slice.data[i];
    return sum;
}

static void use(struct job *job) {
    struct result result = {0};
    begin_result(&result, "");
    bytes += total(job->compile) + total(job->execute) + total(job->environment);
    for (size_t i = 0; i < job->file_count; i++) bytes += strlen(job->files[i].name) + sum_of(job->files[i].data);
    for (size_t i = 0; i < job->test_count; i++)
        for (int mode = 0; mode < COMPARE_MODES; mode++) {
            struct difference found = {0};
            struct run_result run = {.verdict = ACCEPTED, .out = job->tests[i].input, .err = job->tests[i].expected};
            job->mode = (enum compare_mode)mode;
            outputs_match(job, job->tests[i].expected, job->tests[i].input, &found);
            put_run_result(&result, &run, &found);
        }
    free(result.data);
}

static void parse(const struct frame *read) {
    struct frame frame = {malloc(read->size), read->size};
    struct job job;
    memcpy(frame.data, read->data, frame.size);
    const char *error = parse_job(&frame, &job);
    frames++, jobs += !error;
    if (!error) use(&job);
    free_job(&job);
    free(frame.data);
}

static void read_stream(int stream) {
    struct frame frame;
    while (read_frame(stream, &frame)) {
        parse(&frame);
        free_frame(&frame);
    }
}

int main(int count, char **arguments) {
    FILE *file = count > 1 ? fopen(arguments[1], "rb") : NULL;
    uint32_t size;
    if (!file) return 2;
    while (fread(&size, sizeof size, 1, file) == 1) {
        char *data = malloc(size + 1UL);
        int stream = memfd_create("stream", 0);
        if (fread(data, 1, size, file) != size || write(stream, data, size) != size || lseek(stream, 0, SEEK_SET)) return 3;
        read_stream(stream);
        close(stream);
        free(data);
    }
    fclose(file);
    printf("%lu %lu\n", frames, jobs);
    return 0;
}
