/* Strings of bytes, and JSON strings. */
#include "agn_trace.h"

void buffer_grow(Buffer *buffer, size_t more)
{
    buffer->capacity = 2 * (buffer->size + more) + 64;
    buffer->data = realloc(buffer->data, buffer->capacity);
    if (!buffer->data)
        Py_FatalError("no memory for the trace");
}

void buffer_char(Buffer *buffer, Py_UCS4 c)
{
    buffer_reserve(buffer, 4);
    char *to = buffer->data + buffer->size;
    if (c < 0x80) {
        to[0] = (char)c;
        buffer->size += 1;
    } else if (c < 0x800) {
        to[0] = (char)(0xC0 | c >> 6);
        to[1] = (char)(0x80 | (c & 0x3F));
        buffer->size += 2;
    } else if (c < 0x10000) {
        to[0] = (char)(0xE0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 0x3F));
        to[2] = (char)(0x80 | (c & 0x3F));
        buffer->size += 3;
    } else {
        to[0] = (char)(0xF0 | c >> 18);
        to[1] = (char)(0x80 | (c >> 12 & 0x3F));
        to[2] = (char)(0x80 | (c >> 6 & 0x3F));
        to[3] = (char)(0x80 | (c & 0x3F));
        buffer->size += 4;
    }
}

void buffer_number(Buffer *buffer, long long number)
{
    char digits[24], *end = digits + sizeof digits, *first = end;
    unsigned long long left = number < 0 ? 0ULL - (unsigned long long)number : (unsigned long long)number;
    do
        *--first = (char)('0' + left % 10);
    while (left /= 10);
    if (number < 0)
        *--first = '-';
    buffer_add(buffer, first, (size_t)(end - first));
}

static size_t unicode_escape(char *to, unsigned unit)
{
    static const char hex[] = "0123456789abcdef";
    to[0] = '\\';
    to[1] = 'u';
    for (int digit = 0; digit < 4; digit++)
        to[2 + digit] = hex[unit >> (12 - 4 * digit) & 15];
    return 6;
}

/* The character at `from`, which is UTF-8 of ours, and its size in bytes. */
static unsigned decode(const unsigned char *from, size_t *size)
{
    if (from[0] < 0xE0) {
        *size = 2;
        return (from[0] & 0x1Fu) << 6 | (from[1] & 0x3Fu);
    }
    if (from[0] < 0xF0) {
        *size = 3;
        return (from[0] & 0x0Fu) << 12 | (from[1] & 0x3Fu) << 6 | (from[2] & 0x3Fu);
    }
    *size = 4;
    return (from[0] & 0x07u) << 18 | (from[1] & 0x3Fu) << 12 | (from[2] & 0x3Fu) << 6 | (from[3] & 0x3Fu);
}

void buffer_json(Buffer *buffer, const char *text, size_t size)
{
    buffer_reserve(buffer, 6 * size + 2); /* no character takes more than six bytes for each of its own */
    char *to = buffer->data + buffer->size;
    const unsigned char *from = (const unsigned char *)text, *end = from + size;
    *to++ = '"';
    while (from < end) {
        unsigned c = *from;
        if (c >= 0x80) {
            size_t width;
            c = decode(from, &width);
            from += width;
            if (c >= 0x10000) {
                to += unicode_escape(to, 0xD800 + ((c - 0x10000) >> 10));
                c = 0xDC00 + ((c - 0x10000) & 0x3FF);
            }
            to += unicode_escape(to, c);
            continue;
        }
        from++;
        if (c == '"' || c == '\\') {
            *to++ = '\\';
            *to++ = (char)c;
        } else if (c < 0x20 || c == 0x7F) {
            to += unicode_escape(to, c);
        } else {
            *to++ = (char)c;
        }
    }
    *to++ = '"';
    buffer->size = (size_t)(to - buffer->data);
}
