/* The text of a value as it grows: characters, up to a limit, and the containers that are open. */
#include "values.h"

void put(Text *text, Py_UCS4 character)
{
    if (text->cut)
        return;
    if (text->characters == text->limit) {
        text->cut = 1;
        buffer_char(&text->text, 0x2026);
        return;
    }
    text->characters++;
    buffer_char(&text->text, character);
}

void cut_here(Text *text)
{
    text->limit = text->characters;
    put(text, ' ');
}

void put_ascii(Text *text, const char *ascii, size_t size)
{
    if (!text->cut && text->characters + size <= text->limit) {
        buffer_add(&text->text, ascii, size);
        text->characters += size;
        return;
    }
    for (size_t i = 0; i < size && !text->cut; i++)
        put(text, (unsigned char)ascii[i]);
}

void puts_ascii(Text *text, const char *ascii)
{
    put_ascii(text, ascii, strlen(ascii));
}

/* As it is, but for surrogates, which no text in UTF-8 has. */
void put_string(Text *text, PyObject *string)
{
    if (PyUnicode_IS_ASCII(string)) {
        put_ascii(text, PyUnicode_DATA(string), (size_t)PyUnicode_GET_LENGTH(string));
        return;
    }
    int kind = PyUnicode_KIND(string);
    const void *data = PyUnicode_DATA(string);
    for (Py_ssize_t i = 0, n = PyUnicode_GET_LENGTH(string); i < n && !text->cut; i++) {
        Py_UCS4 c = PyUnicode_READ(kind, data, i);
        put(text, c >= 0xD800 && c < 0xE000 ? 0xFFFD : c);
    }
}

void render_name(Text *text, PyObject *name)
{
    put_string(text, name);
}

/* Whether a container may be opened; `cycle` stands for one that is open already. */
int enter(Text *text, PyObject *value, const char *cycle)
{
    for (int i = 0; i < text->depth; i++)
        if (text->open[i] == value) {
            puts_ascii(text, cycle);
            return 0;
        }
    if (text->depth == (int)(sizeof text->open / sizeof *text->open)) {
        cut_here(text);
        return 0;
    }
    text->open[text->depth++] = value;
    return 1;
}
