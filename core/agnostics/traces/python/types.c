/* What the structures of a class tell: its name, and what it defines itself. */
#include "values.h"

int is_heap(PyTypeObject *type)
{
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
}

/* Whether a type is one in C called `name`: no program can make one. */
int is_type_in_c(PyTypeObject *type, const char *name)
{
    return (!is_heap(type) || type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) && strcmp(type->tp_name, name) == 0;
}

PyObject *type_dict(PyTypeObject *type)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyType_GetDict(type);
#else
    return Py_XNewRef(type->tp_dict);
#endif
}

/* What the class itself defines as `name`, borrowed from it; NULL if it does not. */
PyObject *defined(PyTypeObject *type, const char *name)
{
    PyObject *dict = type_dict(type), *found = NULL;
    if (dict && PyDict_CheckExact(dict))
        found = PyDict_GetItemString(dict, name);
    PyErr_Clear();
    Py_XDECREF(dict);
    return found;
}

/* An attribute of an object whose type is in C; NULL without an error if there is none. */
PyObject *attribute(PyObject *value, const char *name)
{
    PyObject *found = PyObject_GetAttrString(value, name);
    if (!found)
        PyErr_Clear();
    return found;
}

void put_type_name(Text *text, PyTypeObject *type)
{
    if (is_heap(type)) {
        PyObject *name = ((PyHeapTypeObject *)type)->ht_qualname;
        if (name && PyUnicode_Check(name))
            put_string(text, name);
        return;
    }
    const char *dot = strrchr(type->tp_name, '.');
    puts_ascii(text, dot ? dot + 1 : type->tp_name);
}

/* The module of a class and a full stop, as in tracebacks: neither that of built-in ones nor the program's. */
void put_module(Text *text, PyTypeObject *type, const char *unnamed)
{
    if (!is_heap(type)) {
        const char *dot = strrchr(type->tp_name, '.');
        for (const char *from = type->tp_name; dot && from <= dot; from++)
            put(text, (unsigned char)*from);
        return;
    }
    PyObject *module = defined(type, "__module__");
    if (!module || !PyUnicode_CheckExact(module) || PyUnicode_CompareWithASCIIString(module, "builtins") == 0)
        return;
    if (PyUnicode_CompareWithASCIIString(module, unnamed) == 0)
        return;
    put_string(text, module);
    put(text, '.');
}

void put_class(Text *text, PyTypeObject *type)
{
    puts_ascii(text, "<class '");
    put_module(text, type, "");
    put_type_name(text, type);
    puts_ascii(text, "'>");
}
