/* Texts of values, by their types in the debug information. What was never stored has all its bytes 0xFE, which the
 * tracer fills new variables with. */

#include "trace.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST 20
#define MOST_DIMENSIONS 15

size_t longest_value;

void text_clear(struct text *text) {
    text->size = text->characters = 0;
    text->cut = text->undefined = text->defined = false;
}

static void put_character(struct text *text, const char *bytes, size_t count) {
    if (text->cut)
        return;
    text->cut = text->characters++ >= longest_value || text->size + 8 > sizeof text->bytes;
    if (text->cut)
        bytes = "\u2026", count = strlen(bytes);
    memcpy(text->bytes + text->size, bytes, count);
    text->size += count;
}

void text_put(struct text *text, const char *ascii) {
    for (; *ascii; ascii++)
        put_character(text, ascii, 1);
}

static void cut_here(struct text *text) {
    text->characters = longest_value;
    put_character(text, "", 0);
}

/* The bytes of the character that stands there, or 0 where they are no UTF-8. */
static size_t character_size(const unsigned char *bytes, size_t count) {
    size_t size = bytes[0] < 0x80 ? 1 : bytes[0] < 0xC2 ? 0 : bytes[0] < 0xE0 ? 2 : bytes[0] < 0xF0 ? 3 : bytes[0] < 0xF5 ? 4 : 0;
    if (size > count)
        return 0;
    for (size_t i = 1; i < size; i++)
        if (bytes[i] >> 6 != 2)
            return 0;
    bool too_short = (bytes[0] == 0xE0 && bytes[1] < 0xA0) || (bytes[0] == 0xF0 && bytes[1] < 0x90);
    bool too_large = (bytes[0] == 0xED && bytes[1] > 0x9F) || (bytes[0] == 0xF4 && bytes[1] > 0x8F);
    return too_short || too_large ? 0 : size;
}

static void put_escape(struct text *text, unsigned char byte) {
    char escape[8];
    if (byte == '"' || byte == '\\')
        snprintf(escape, sizeof escape, "\\%c", byte);
    else if (byte == '\n')
        strcpy(escape, "\\n");
    else
        snprintf(escape, sizeof escape, "\\x%02x", byte);
    text_put(text, escape);
}

void text_bytes(struct text *text, const char *bytes, size_t count, bool quoted) {
    const unsigned char *from = (const unsigned char *)bytes;
    for (size_t i = 0; i < count && !text->cut;) {
        size_t size = character_size(from + i, count - i);
        if (!size || from[i] < ' ' || from[i] == 127 || (quoted && (from[i] == '"' || from[i] == '\\')))
            put_escape(text, from[i]);
        else
            put_character(text, bytes + i, size);
        i += size ? size : 1;
    }
}

static bool is_undefined(const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0xFE)
            return false;
    return size > 0;
}

static void put_undefined(struct text *text) {
    text->undefined = true;
    text_put(text, "?");
}

/* --- scalars --- */

static void put_integer(struct text *text, const uint8_t *bytes, size_t size) {
    char digits[64];
    __int128 value = 0;
    memcpy(&value, bytes, size);
    if (size < 16)
        value = value << (128 - 8 * size) >> (128 - 8 * size);
    bool negative = value < 0;
    unsigned __int128 left = negative ? 0 - (unsigned __int128)value : (unsigned __int128)value;
    char *first = digits + sizeof digits - 1;
    *first = 0;
    do
        *--first = (char)('0' + (int)(left % 10));
    while (left /= 10);
    if (negative)
        *--first = '-';
    text_put(text, first);
}

static double as_double(const uint8_t *bytes, size_t size, bool is_quad) {
    float single;
    double value;
    long double extended;
    __float128 quad;
    if (size == 4)
        return memcpy(&single, bytes, 4), single;
    if (size == 8)
        return memcpy(&value, bytes, 8), value;
    if (is_quad)
        return memcpy(&quad, bytes, 16), (double)quad;
    return memcpy(&extended, bytes, sizeof extended), (double)extended;
}

/* The shortest digits that are this number; larger kinds than 8 are rounded to it. */
static void put_real(struct text *text, const uint8_t *bytes, size_t size, bool is_quad) {
    char digits[64];
    double value = as_double(bytes, size, is_quad);
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        double read = strtod(digits, NULL);
        if (size == 4 ? (float)read == (float)value : read == value)
            break;
    }
    text_put(text, value != value ? "NaN" : digits);
    if (value == value && !strpbrk(digits, ".ein"))
        text_put(text, ".0");
}

static const char *name_of(const struct entry *entry) {
    const uint8_t *name = entry->attributes[NAME].bytes;
    return name ? (const char *)name : "";
}

static void put_scalar(struct text *text, const struct entry *type, uint64_t address) {
    uint8_t bytes[32];
    size_t size = type->attributes[BYTE_SIZE].number;
    uint64_t encoding = type->attributes[ENCODING].number;
    bool is_quad = strstr(name_of(type), "kind=16") != NULL;
    if (size > sizeof bytes || !read_memory(address, bytes, size)) {
        text_put(text, "<unreadable>");
        return;
    }
    if (is_undefined(bytes, size)) {
        put_undefined(text);
        return;
    }
    text->defined = true;
    if (encoding == 0x02) { /* boolean */
        text_put(text, bytes[0] ? ".true." : ".false.");
    } else if (encoding == 0x04) { /* float */
        put_real(text, bytes, size, is_quad);
    } else if (encoding == 0x03) { /* complex float */
        text_put(text, "(");
        put_real(text, bytes, size / 2, is_quad);
        text_put(text, ", ");
        put_real(text, bytes + size / 2, size / 2, is_quad);
        text_put(text, ")");
    } else if (size <= 16) {
        put_integer(text, bytes, size);
    }
}

static bool string_length(const struct entry *type, const struct context *context, uint64_t *length) {
    const struct value *attribute = &type->attributes[STRING_LENGTH];
    uint64_t size = type->attributes[LENGTH_SIZE].kind ? type->attributes[LENGTH_SIZE].number : 8, place;
    struct entry variable;
    *length = 0;
    if (!attribute->kind)
        return *length = type->attributes[BYTE_SIZE].number, true;
    if (attribute->kind == REFERENCE) {
        if (!read_entry(attribute->number, &variable))
            return false;
        attribute = &variable.attributes[LOCATION];
    }
    return size <= 8 && evaluate(attribute, context, &place) && read_memory(place, length, size);
}

static void put_string(struct text *text, const struct entry *type, uint64_t address, uint64_t frame) {
    struct context context = {frame, address};
    uint64_t length;
    char bytes[4096];
    if (!string_length(type, &context, &length) || length > UINT32_MAX) {
        text_put(text, "<unreadable>");
        return;
    }
    size_t shown = length < sizeof bytes ? length : sizeof bytes;
    if (!read_memory(address, bytes, shown)) {
        text_put(text, "<unreadable>");
        return;
    }
    if (is_undefined((uint8_t *)bytes, shown)) {
        put_undefined(text);
        return;
    }
    text->defined = true;
    text_put(text, "\"");
    text_bytes(text, bytes, shown, true);
    if (shown == length)
        text_put(text, "\"");
    else
        cut_here(text);
}

/* --- what has parts --- */

static void put_value(struct text *text, uint64_t type, uint64_t address, uint64_t frame, int depth);

struct dimension {
    int64_t count, stride;
};

static uint64_t size_of(uint64_t place, const struct context *context) {
    struct entry type;
    uint64_t size = 0;
    for (int i = 0; i < 10 && read_entry(place, &type); i++, place = type.attributes[TYPE].number) {
        if (type.tag == TAG_STRING && string_length(&type, context, &size))
            return size;
        if (type.attributes[BYTE_SIZE].kind)
            return type.attributes[BYTE_SIZE].number;
        if (type.tag == TAG_POINTER)
            return 8;
        if (type.attributes[TYPE].kind != REFERENCE)
            break;
    }
    return size;
}

/* The dimensions of an array, the first first; their number, or -1. */
static int read_dimensions(const struct entry *type, const struct context *context, struct dimension *dimensions) {
    struct entry range;
    int count = 0;
    int64_t stride = (int64_t)size_of(type->attributes[TYPE].number, context);
    for (uint64_t place = type->children; read_entry(place, &range); place = place_after(&range)) {
        uint64_t lower = 1, upper = 0, extent, own_stride;
        if (range.tag != TAG_SUBRANGE || count == MOST_DIMENSIONS)
            return -1;
        if (range.attributes[LOWER].kind && !evaluate(&range.attributes[LOWER], context, &lower))
            return -1;
        if (range.attributes[COUNT].kind && evaluate(&range.attributes[COUNT], context, &extent))
            upper = lower + extent - 1;
        else if (!evaluate(&range.attributes[UPPER], context, &upper))
            return -1;
        if (range.attributes[STRIDE].kind && evaluate(&range.attributes[STRIDE], context, &own_stride))
            stride = (int64_t)own_stride;
        dimensions[count].count = (int64_t)(upper - lower + 1) > 0 ? (int64_t)(upper - lower + 1) : 0;
        dimensions[count].stride = stride;
        stride *= dimensions[count++].count;
    }
    return count;
}

static void put_elements(struct text *text, uint64_t type, const struct dimension *dimensions, int count, int which,
                         uint64_t address, uint64_t frame, int depth) {
    text_put(text, "[");
    for (int64_t i = 0; i < dimensions[which].count && !text->cut; i++, address += (uint64_t)dimensions[which].stride) {
        text_put(text, i ? ", " : "");
        if (which + 1 < count)
            put_elements(text, type, dimensions, count, which + 1, address, frame, depth);
        else
            put_value(text, type, address, frame, depth + 1);
    }
    text_put(text, "]");
}

/* Whether an array is there, which an attribute tells by a number other than 0. */
static bool is_there(const struct entry *type, enum attribute attribute, const struct context *context) {
    uint64_t result;
    return !type->attributes[attribute].kind || !evaluate(&type->attributes[attribute], context, &result) || result;
}

static void put_array(struct text *text, const struct entry *type, uint64_t address, uint64_t frame, int depth) {
    struct context context = {frame, address};
    struct dimension dimensions[MOST_DIMENSIONS];
    uint64_t data = address;
    bool has_descriptor = type->attributes[DATA].kind;
    if (!is_there(type, ALLOCATED, &context) || !is_there(type, ASSOCIATED, &context)) {
        text->defined = true;
        text_put(text, type->attributes[ALLOCATED].kind ? "unallocated" : "null");
        return;
    }
    if (has_descriptor && !evaluate(&type->attributes[DATA], &context, &data))
        data = UINT64_MAX;
    if (has_descriptor && is_undefined((uint8_t *)&data, sizeof data)) {
        put_undefined(text);
        return;
    }
    int count = read_dimensions(type, &context, dimensions);
    if (count <= 0 || data == UINT64_MAX) {
        text_put(text, "<unreadable>");
        return;
    }
    put_elements(text, type->attributes[TYPE].number, dimensions, count, 0, data, frame, depth);
}

static void put_pointer(struct text *text, const struct entry *type, uint64_t address, uint64_t frame, int depth) {
    uint64_t target;
    if (!read_memory(address, &target, sizeof target)) {
        text_put(text, "<unreadable>");
    } else if (is_undefined((uint8_t *)&target, sizeof target)) {
        put_undefined(text);
    } else if (!target) {
        text->defined = true;
        text_put(text, "null");
    } else if (type->attributes[TYPE].kind == REFERENCE) {
        put_value(text, type->attributes[TYPE].number, target, frame, depth + 1);
    } else {
        text_put(text, "<pointer>");
    }
}

static void put_structure(struct text *text, const struct entry *type, uint64_t address, uint64_t frame, int depth) {
    struct entry member;
    int count = 0;
    const char *name = name_of(type);
    bool is_class = strncmp(name, "__class_", 8) == 0;
    if (!is_class) {
        text_put(text, name);
        text_put(text, "(");
    }
    for (uint64_t place = type->children; read_entry(place, &member) && !text->cut; place = place_after(&member)) {
        const char *part = name_of(&member);
        if (member.tag != TAG_MEMBER || (is_class ? strcmp(part, "_data") != 0 : *part == '_'))
            continue;
        if (!is_class) {
            text_put(text, count++ ? ", " : "");
            text_put(text, part);
            text_put(text, "=");
        }
        put_value(text, member.attributes[TYPE].number, address + member.attributes[MEMBER].number, frame, depth + 1);
    }
    if (!is_class)
        text_put(text, ")");
}

static void put_value(struct text *text, uint64_t place, uint64_t address, uint64_t frame, int depth) {
    struct entry type;
    if (text->cut)
        return;
    if (depth > DEEPEST) {
        cut_here(text);
        return;
    }
    if (!read_entry(place, &type)) {
        text_put(text, "<unreadable>");
        return;
    }
    switch (type.tag) {
    case TAG_BASE: put_scalar(text, &type, address); break;
    case TAG_STRING: put_string(text, &type, address, frame); break;
    case TAG_ARRAY: put_array(text, &type, address, frame, depth); break;
    case TAG_POINTER: case TAG_REFERENCE: put_pointer(text, &type, address, frame, depth); break;
    case TAG_STRUCTURE: put_structure(text, &type, address, frame, depth); break;
    default: /* a type with another word to it, such as const */
        if (type.attributes[TYPE].kind == REFERENCE)
            put_value(text, type.attributes[TYPE].number, address, frame, depth + 1);
        else
            text_put(text, "<procedure>");
    }
}

void text_value(struct text *text, uint64_t type, uint64_t address, uint64_t frame) {
    put_value(text, type, address, frame, 0);
}
