/* The lines of a program: how many there are, which one is marked, and which belong to a `def`. */
#include "tracer.h"

#define MARKER "# << START_OF_TRACE"

/* Whether the first word of a line is this one. */
static int begins(const char *line, const char *stop_at, const char *word)
{
    size_t size = strlen(word);
    while (line < stop_at && (*line == ' ' || *line == '\t' || *line == '\f'))
        line++;
    return (size_t)(stop_at - line) >= size && memcmp(line, word, size) == 0;
}

static const char *end_of_line(const char *line, const char *stop_at)
{
    while (line < stop_at && *line != '\n' && *line != '\r')
        line++;
    return line;
}

static const char *next_line(const char *line_end, const char *stop_at)
{
    if (line_end < stop_at && *line_end == '\r')
        return line_end + 1 + (line_end + 1 < stop_at && line_end[1] == '\n');
    return line_end + 1;
}

/* Counts the lines of the program, and finds the marker and the `def` below each decorator. */
int read_lines(Lines *lines, const char *source, Py_ssize_t size)
{
    const char *stop_at = source + size;
    lines->definitions = malloc(((size_t)size + 2) * sizeof(int));
    if (!lines->definitions)
        return 0;
    int decorated = 0; /* the first line of the decorators above this line */
    for (const char *line = source; line < stop_at || line == source; line = next_line(end_of_line(line, stop_at), stop_at)) {
        const char *line_end = end_of_line(line, stop_at);
        int number = ++lines->count;
        int defines = begins(line, line_end, "def ") || begins(line, line_end, "async def ");
        lines->definitions[number] = number;
        if (defines && memmem(line, (size_t)(line_end - line), MARKER, strlen(MARKER)) && !lines->marked)
            lines->marked = number;
        if (defines || begins(line, line_end, "class ")) {
            for (int above = decorated; above && above < number; above++)
                lines->definitions[above] = number;
            decorated = 0;
        } else if (begins(line, line_end, "@") && !decorated) {
            decorated = number;
        }
    }
    return 1;
}
