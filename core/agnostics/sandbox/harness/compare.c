/* Comparison of outputs, on bytes. */
#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FLOAT_SIZE = 400, EXCERPT_LEAD = 40 };

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

struct cursor {
    const char *start, *at, *end;
};

static struct cursor cursor_over(struct slice text) {
    return (struct cursor){text.data, text.data, text.data + text.size};
}

/* The next token; an empty one at the end. */
static struct slice next_token(struct cursor *cursor) {
    while (cursor->at < cursor->end && is_space(*cursor->at)) cursor->at++;
    const char *start = cursor->at;
    while (cursor->at < cursor->end && !is_space(*cursor->at)) cursor->at++;
    return (struct slice){start, (size_t)(cursor->at - start)};
}

/* The next line without its trailing white space. */
static struct slice next_line(struct cursor *cursor) {
    const char *start = cursor->at;
    const char *newline = memchr(start, '\n', (size_t)(cursor->end - start));
    const char *end = newline ? newline : cursor->end;
    cursor->at = newline ? newline + 1 : cursor->end;
    while (end > start && is_space(end[-1])) end--;
    return (struct slice){start, (size_t)(end - start)};
}

static bool same(struct slice a, struct slice b) { return a.size == b.size && !memcmp(a.data, b.data, a.size); }

/* Parse a token as a decimal number, `inf` or `nan`; hexadecimal and anything else is no number. */
static bool parse_number(struct slice token, char *text, double *value) {
    if (token.size == 0 || token.size >= FLOAT_SIZE) return false;
    memcpy(text, token.data, token.size);
    text[token.size] = 0;
    if (strpbrk(text, "xXpP(") || strlen(text) != token.size) return false;
    char *end;
    *value = strtod(text, &end);
    return end == text + token.size;
}

static bool is_float(const char *text, double value) { return strpbrk(text, ".eE") || isnan(value) || isinf(value); }

static bool tokens_match(const struct job *job, struct slice expected, struct slice actual) {
    if (same(expected, actual)) return true;
    if (job->mode != COMPARE_FLOATS) return false;
    char text[FLOAT_SIZE];
    double wanted, got;
    if (!parse_number(expected, text, &wanted) || !is_float(text, wanted)) return false;
    if (!parse_number(actual, text, &got)) return false;
    if (isnan(wanted) || isnan(got)) return isnan(wanted) && isnan(got);
    if (isinf(wanted) || isinf(got)) return wanted == got;
    return fabs(got - wanted) <= fmax(job->absolute, job->relative * fabs(wanted));
}

/* Record the position of the first difference; the excerpts of long tokens begin shortly before it. */
static void record_difference(struct difference *difference, uint64_t index, const struct cursor *actual_text,
                              struct slice expected, struct slice actual) {
    size_t common = 0;
    while (common < expected.size && common < actual.size && expected.data[common] == actual.data[common]) common++;
    size_t skip = common > EXCERPT_LEAD ? common - EXCERPT_LEAD : 0;
    difference->found = true;
    difference->index = index;
    difference->offset = (uint64_t)(actual.data - actual_text->start) + common;
    difference->expected = (struct slice){expected.data + skip, expected.size - skip};
    difference->actual = (struct slice){actual.data + skip, actual.size - skip};
}

static bool compare_tokens(const struct job *job, struct slice expected, struct slice actual, struct difference *found) {
    struct cursor wanted = cursor_over(expected), got = cursor_over(actual);
    for (uint64_t index = 0;; index++) {
        struct slice e = next_token(&wanted), a = next_token(&got);
        if (e.size == 0 && a.size == 0) return true;
        if (e.size > 0 && a.size > 0 && tokens_match(job, e, a)) continue;
        record_difference(found, index, &got, e, a);
        return false;
    }
}

static struct slice trimmed(struct slice text) {
    while (text.size > 0 && is_space(text.data[text.size - 1])) text.size--;
    return text;
}

static bool compare_lines(struct slice expected, struct slice actual, struct difference *found) {
    struct cursor wanted = cursor_over(trimmed(expected)), got = cursor_over(trimmed(actual));
    for (uint64_t index = 0; wanted.at < wanted.end || got.at < got.end; index++) {
        struct slice e = next_line(&wanted), a = next_line(&got);
        if (same(e, a)) continue;
        record_difference(found, index, &got, e, a);
        return false;
    }
    return true;
}

/* True if `actual` matches `expected`; if not, `found` is the first difference. */
bool outputs_match(const struct job *job, struct slice expected, struct slice actual, struct difference *found) {
    found->found = false;
    if (job->mode == COMPARE_NOTHING || same(expected, actual)) return true;
    if (job->mode == COMPARE_LINES) return compare_lines(expected, actual, found);
    if (job->mode != COMPARE_EXACT) return compare_tokens(job, expected, actual, found);
    struct cursor got = cursor_over(actual);
    record_difference(found, 0, &got, expected, actual);
    return false;
}
