/* Texts of numbers, strings and bytes. */
#include "values.h"

#define MAX_DIGITS 4000 /* more take too long, and Python refuses them */

/* Whether code of the program has no part in what the repr of `value` is. */
int is_plain(PyObject *value)
{
    return value == Py_None || PyUnicode_CheckExact(value) || PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
           PyBool_Check(value) || PyBytes_CheckExact(value) || PyComplex_CheckExact(value);
}

/* The repr of what is_plain, or has a type in C whose repr asks nobody. */
void put_repr(Text *text, PyObject *value)
{
    PyObject *repr = PyObject_Repr(value);
    if (repr)
        put_string(text, repr);
    else
        PyErr_Clear();
    Py_XDECREF(repr);
}

void put_int(Text *text, PyObject *value)
{
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (!overflow) {
        char digits[24];
        Buffer short_text = {digits, 0, sizeof digits};
        buffer_number(&short_text, number);
        put_ascii(text, digits, short_text.size);
        return;
    }
    size_t bits = _PyLong_NumBits(value);
    PyObject *repr = bits < MAX_DIGITS * 3.32 ? PyLong_Type.tp_repr(value) : NULL;
    if (repr) {
        put_string(text, repr);
        Py_DECREF(repr);
        return;
    }
    PyErr_Clear(); /* of a program that allows fewer digits */
    char words[64];
    snprintf(words, sizeof words, "<int of %zu bits>", bits);
    puts_ascii(text, words);
    cut_here(text);
}

/* Whether the repr of a string is the string in quotes. */
static int needs_no_escape(PyObject *value)
{
    if (!PyUnicode_IS_ASCII(value))
        return 0;
    const unsigned char *data = PyUnicode_DATA(value);
    for (Py_ssize_t i = 0, n = PyUnicode_GET_LENGTH(value); i < n; i++)
        if (data[i] < 0x20 || data[i] == 0x7F || data[i] == '\'' || data[i] == '\\')
            return 0;
    return 1;
}

void put_str(Text *text, PyObject *value)
{
    if (PyUnicode_GET_LENGTH(value) <= (Py_ssize_t)text->limit && needs_no_escape(value)) {
        put_ascii(text, "'", 1);
        put_string(text, value);
        put_ascii(text, "'", 1);
        return;
    }
    if (PyUnicode_GET_LENGTH(value) <= (Py_ssize_t)text->limit) {
        put_repr(text, value);
        return;
    }
    Py_ssize_t size = PyUnicode_GET_LENGTH(value);
    int single = PyUnicode_FindChar(value, '\'', 0, size, 1) >= 0, both = PyUnicode_FindChar(value, '"', 0, size, 1) >= 0;
    PyObject *start = PyUnicode_Substring(value, 0, (Py_ssize_t)text->limit);
    PyObject *rest = PyUnicode_FromString(!single ? "" : both ? "'\"" : "'"); /* has it the quotes of the whole */
    PyObject *quoted = start && rest ? PyUnicode_Concat(start, rest) : NULL;
    if (quoted)
        put_repr(text, quoted);
    else
        PyErr_Clear();
    Py_XDECREF(quoted);
    Py_XDECREF(rest);
    Py_XDECREF(start);
}

void put_bytes(Text *text, const char *type, const char *data, Py_ssize_t size)
{
    PyObject *start = PyBytes_FromStringAndSize(data, size < (Py_ssize_t)text->limit ? size : (Py_ssize_t)text->limit);
    puts_ascii(text, type);
    if (start)
        put_repr(text, start);
    else
        PyErr_Clear();
    if (*type)
        put(text, ')');
    Py_XDECREF(start);
}
