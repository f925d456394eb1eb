/* Texts of exceptions, as values and as they end a traceback. */
#include "values.h"

void put_exception(Text *text, PyObject *value)
{
    PyObject *arguments = ((PyBaseExceptionObject *)value)->args;
    put_type_name(text, Py_TYPE(value));
    put(text, '(');
    if (enter(text, value, "...")) {
        for (Py_ssize_t i = 0; arguments && i < PyTuple_GET_SIZE(arguments) && !text->cut; i++)
            put_element(text, PyTuple_GET_ITEM(arguments, i), i == 0);
        text->depth--;
    }
    put(text, ')');
}

/* Whether str() of an exception of a type in C asks no object of the program. */
static int has_plain_parts(PyObject *exception, PyObject *arguments)
{
    static const char *const parts[] = {"filename", "filename2", "strerror", "errno",    "msg",  "lineno",
                                        "object",   "reason",    "encoding", "name",     "path", "text",
                                        "start",    "end",       "offset",   "characters_written"};
    int plain = 1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); i++)
        plain = plain && is_plain(PyTuple_GET_ITEM(arguments, i));
    for (size_t i = 0; i < sizeof parts / sizeof *parts && plain; i++) {
        PyObject *part = attribute(exception, parts[i]);
        plain = !part || is_plain(part);
        Py_XDECREF(part);
    }
    return plain;
}

/* "ValueError: text", as the last line of a traceback. */
void render_exception(Text *text, PyObject *exception)
{
    PyTypeObject *type = Py_TYPE(exception);
    PyObject *arguments = ((PyBaseExceptionObject *)exception)->args;
    put_module(text, type, "__main__");
    put_type_name(text, type);
    if (!arguments || !PyTuple_CheckExact(arguments))
        return;
    if (!is_heap(type) && has_plain_parts(exception, arguments)) {
        PyObject *words = PyObject_Str(exception);
        if (words && PyUnicode_CheckExact(words) && PyUnicode_GET_LENGTH(words)) {
            puts_ascii(text, ": ");
            put_string(text, words);
        }
        PyErr_Clear();
        Py_XDECREF(words);
        return;
    }
    if (PyTuple_GET_SIZE(arguments) == 0)
        return;
    puts_ascii(text, ": ");
    PyObject *first = PyTuple_GET_ITEM(arguments, 0);
    if (PyTuple_GET_SIZE(arguments) == 1 && PyUnicode_CheckExact(first)) {
        put_string(text, first);
    } else if (enter(text, exception, "...")) {
        put_element(text, PyTuple_GET_SIZE(arguments) == 1 ? first : arguments, 1);
        text->depth--;
    }
}
