/* The events of a program: its variables, of which each event has those that changed, and their texts. */

#include "trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "trace_file.h"

#define OUTPUT "output"

/* UTF-8 of at most `limit` characters, and a mark where it was cut. */
struct text {
    char *bytes;
    size_t size, capacity, characters;
    bool cut;
};

struct variable {
    char *name;
    struct text value;
    bool local;
    uint64_t changed;    /* the time of the last change */
    size_t newer, older; /* in the order of these times */
};

bool trace_asked, tracing;

static size_t limit, deepest;
static struct text text, action;
static bool has_action;

static struct variable *variables;
static size_t variable_count, variable_capacity;
static size_t newest = SIZE_MAX;
static size_t *places; /* open addressing by name: an index and one */
static size_t place_count;

static uint64_t now;
static uint64_t *seen; /* of each open scope, the time of its last event */
static size_t depth, seen_capacity; /* scopes that are open */
static size_t last_line = 1;

static unsigned char *output; /* what the program has printed, as far as it is shown */
static size_t output_size, output_limit;
static bool output_changed;

static size_t *line_starts;
static size_t line_count, line_capacity;

/* --- texts --- */

static void append(struct text *to, const char *bytes, size_t count) {
    while (to->size + count + 4 > to->capacity)
        to->bytes = grow(to->bytes, &to->capacity, to->size, 1);
    memcpy(to->bytes + to->size, bytes, count);
    to->size += count;
}

static void put_character(const char *bytes, size_t count) {
    if (text.cut)
        return;
    if (text.characters++ == limit)
        trace_cut();
    else
        append(&text, bytes, count);
}

void trace_cut(void) {
    if (!text.cut)
        append(&text, "\u2026", strlen("\u2026"));
    text.cut = true;
}

bool trace_has_room(void) { return !text.cut; }

void trace_text(const char *format, ...) {
    char words[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    trace_bytes(words, strlen(words));
}

static bool continues(const unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (bytes[i] >> 6 != 2)
            return false;
    return true;
}

/* The bytes of the character that stands there, or 0 where they are no UTF-8. */
static size_t character_size(const unsigned char *bytes, size_t count) {
    if (bytes[0] < 0x80)
        return 1;
    size_t size = bytes[0] < 0xC2 ? 0 : bytes[0] < 0xE0 ? 2 : bytes[0] < 0xF0 ? 3 : bytes[0] < 0xF5 ? 4 : 0;
    if (size < 2 || size > count || !continues(bytes + 1, size - 1))
        return 0;
    bool too_short = (bytes[0] == 0xE0 && bytes[1] < 0xA0) || (bytes[0] == 0xF0 && bytes[1] < 0x90);
    bool too_large = (bytes[0] == 0xED && bytes[1] > 0x9F) || (bytes[0] == 0xF4 && bytes[1] > 0x8F);
    return too_short || too_large ? 0 : size;
}

static void put_ascii(const char *words) {
    for (; *words; words++)
        put_character(words, 1);
}

static void put_escape(unsigned char byte, bool quoted) {
    char escape[8];
    const char *letter = byte && quoted ? strchr("\"\"\\\\\nn\tt\rr", byte) : NULL;
    if (letter)
        snprintf(escape, sizeof escape, "\\%c", letter[1]);
    else
        snprintf(escape, sizeof escape, "\\x%02x", byte);
    put_ascii(escape);
}

static void put_bytes(const unsigned char *bytes, size_t count, bool quoted) {
    for (size_t i = 0; i < count && !text.cut;) {
        size_t size = character_size(bytes + i, count - i);
        bool escaped = !size || bytes[i] == 0x7F || bytes[i] < ' ' || (quoted && (bytes[i] == '"' || bytes[i] == '\\'));
        if (escaped)
            put_escape(bytes[i], quoted);
        else
            put_character((const char *)bytes + i, size);
        i += size ? size : 1;
    }
}

void trace_bytes(const void *bytes, size_t count) { put_bytes(bytes, count, false); }

void trace_quoted(const void *bytes, size_t count) {
    put_ascii("\"");
    put_bytes(bytes, count, true);
    put_ascii("\"");
}

static void clear_text(void) {
    text.size = text.characters = 0;
    text.cut = false;
}

/* Makes what was put together `to`. */
static void take_text(struct text *to) {
    struct text old = *to;
    *to = text;
    text = old;
    clear_text();
}

/* --- variables --- */

static size_t hash(const char *name) {
    uint64_t hash = 14695981039346656037u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 1099511628211u;
    return (size_t)hash;
}

static size_t *find_place(const char *name) {
    size_t place = hash(name) & (place_count - 1);
    while (places[place] && strcmp(variables[places[place] - 1].name, name) != 0)
        place = (place + 1) & (place_count - 1);
    return &places[place];
}

static void make_places(void) {
    if (variable_count * 2 < place_count)
        return;
    free(places);
    place_count = place_count ? place_count * 2 : 64;
    places = allocate(place_count, sizeof *places);
    for (size_t i = 0; i < variable_count; i++)
        *find_place(variables[i].name) = i + 1;
}

static void make_newest(size_t index) {
    variables[index].older = newest;
    variables[index].newer = SIZE_MAX;
    if (newest != SIZE_MAX)
        variables[newest].newer = index;
    newest = index;
}

static void unlink_variable(size_t index) {
    struct variable *variable = &variables[index];
    if (variable->newer == SIZE_MAX)
        newest = variable->older;
    else
        variables[variable->newer].older = variable->older;
    if (variable->older != SIZE_MAX)
        variables[variable->older].newer = variable->newer;
}

static size_t find_variable(const char *name, bool local) {
    make_places();
    size_t *place = find_place(name);
    if (*place)
        return *place - 1;
    struct variable variable = {.name = strdup(name), .local = local};
    if (!variable.name)
        fail("out of memory");
    *place = variable_count + 1;
    APPEND(variables, variable_count, variable_capacity, variable);
    make_newest(variable_count - 1);
    return variable_count - 1;
}

static void set_variable(const char *name, bool local) {
    size_t index = find_variable(name, local);
    struct text *value = &variables[index].value;
    if (variables[index].changed && value->size == text.size && memcmp(value->bytes, text.bytes, text.size) == 0) {
        clear_text();
        return;
    }
    take_text(value);
    variables[index].changed = ++now;
    unlink_variable(index);
    make_newest(index);
}

void trace_variable(bool local, const char *format, ...) {
    char name[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    set_variable(name, local);
}

static int compare_indices(const void *a, const void *b) {
    size_t left = *(const size_t *)a, right = *(const size_t *)b;
    return left < right ? -1 : left > right;
}

/* The variables that an event shows, in their order. */
static size_t *shown_variables(bool call, size_t *count) {
    static size_t *shown;
    static size_t capacity;
    *count = 0;
    for (size_t i = newest; i != SIZE_MAX && variables[i].changed > seen[depth - 1]; i = variables[i].older)
        if (!call || !variables[i].local)
            APPEND(shown, *count, capacity, i);
    for (size_t i = 0; call && i < variable_count; i++)
        if (variables[i].local)
            APPEND(shown, *count, capacity, i);
    if (*count)
        qsort(shown, *count, sizeof *shown, compare_indices);
    return shown;
}

/* --- events --- */

static void write_variables(bool call) {
    size_t count, cut = 0;
    const size_t *shown = shown_variables(call, &count);
    for (size_t i = 0; i < count; i++) {
        const struct variable *variable = &variables[shown[i]];
        file_put(i ? "," : ",\"v\":{");
        file_put_json(variable->name, strlen(variable->name));
        file_put(":");
        file_put_json(variable->value.bytes, variable->value.size);
        cut += variable->value.cut;
    }
    file_put(count ? "}" : "");
    for (size_t i = 0, written = 0; cut && i < count; i++) {
        if (!variables[shown[i]].value.cut)
            continue;
        file_put(written++ ? "," : ",\"c\":[");
        file_put_json(variables[shown[i]].name, strlen(variables[shown[i]].name));
    }
    file_put(cut ? "]" : "");
    seen[depth - 1] = now;
}

static void write_action(void) {
    if (has_action) {
        file_put(",\"s\":");
        file_put_json(action.bytes, action.size);
    }
    has_action = false;
}

static void begin(const char *kind, size_t line) {
    char words[96];
    last_line = line;
    snprintf(words, sizeof words, "{\"e\":\"%s\",\"l\":%zu,\"d\":%zu", kind, line, depth - 1);
    file_put(words);
}

static void end_event(void) {
    file_put("}");
    tracing = file_end_event();
}

static void end_trace(void) {
    tracing = false;
    file_end("complete");
}

/* The output is a variable like any other. */
static void note_output(void) {
    if (!output_changed)
        return;
    output_changed = false;
    trace_quoted(output, output_size);
    set_variable(OUTPUT, false);
}

bool trace_wanted(void) { return tracing && depth - 1 <= deepest; }

void trace_action(void) {
    take_text(&action);
    has_action = true;
}

void trace_line(size_t line) {
    if (!trace_wanted())
        return;
    look_at_output();
    note_output();
    begin("line", line);
    write_action();
    write_variables(false);
    end_event();
}

void trace_call(size_t line, const char *name) {
    APPEND(seen, depth, seen_capacity, now);
    if (!trace_wanted())
        return;
    begin("call", line);
    file_put(",\"f\":");
    file_put_json(name, strlen(name));
    write_action();
    write_variables(true);
    end_event();
}

/* Ends the scope with the text. */
static void leave(const char *kind, size_t line) {
    if (trace_wanted()) {
        begin(kind, line);
        write_action();
        file_put(",\"r\":");
        file_put_json(text.bytes, text.size);
        file_put(text.cut ? ",\"c\":[\"value\"]" : "");
        end_event();
    }
    depth--;
}

void trace_return(size_t line) {
    leave("return", line);
    clear_text();
}

void trace_output(const unsigned char *bytes, size_t count) {
    size_t room = output_limit - output_size;
    output_changed |= count && room;
    memcpy(output + output_size, bytes, count < room ? count : room);
    output_size += count < room ? count : room;
}

/* An error ends every scope. */
void trace_failure(const char *message) {
    has_action = false;
    clear_text();
    trace_bytes(message, strlen(message));
    while (tracing && depth)
        leave("exception", last_line);
    if (tracing)
        end_trace();
}

void trace_finish(int status) {
    has_action = false;
    clear_text();
    while (tracing && depth > 1)
        trace_return(last_line);
    if (status)
        trace_text("%d", status);
    trace_return(last_line);
    if (tracing)
        end_trace();
}

void trace_refuse(void) {
    trace_asked = false;
    file_open();
    file_end("complete");
}

/* --- the beginning --- */

size_t line_of(size_t offset) {
    size_t low = 0, high = line_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (line_starts[middle] <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low : 1;
}

size_t line_of_number(uint64_t number) { return number <= line_count ? (size_t)number : line_count; }

static void find_lines(void) {
    APPEND(line_starts, line_count, line_capacity, (size_t)0);
    for (size_t i = 0; i + 1 < source.length; i++)
        if (source.text[i] == '\n')
            APPEND(line_starts, line_count, line_capacity, i + 1);
}

void trace_prepare(void) { trace_asked = getenv("AGN_TRACE") != NULL; }

void trace_start(void) {
    if (!trace_asked)
        return;
    trace_asked = false;
    file_open();
    limit = trace_limit("AGN_TRACE_VALUE", 1000);
    deepest = trace_limit("AGN_TRACE_DEPTH", 100);
    output_limit = limit * 4 + 4;
    output = allocate(output_limit, 1);
    find_lines();
    tracing = true;
    output_changed = true;
    trace_call(1, "");
}
