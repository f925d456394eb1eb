/* Texts of functions, modules and the like, and of types of the standard library. */
#include "values.h"

static void put_named(Text *text, const char *kind, PyObject *name)
{
    put(text, '<');
    puts_ascii(text, kind);
    put(text, ' ');
    if (name && PyUnicode_Check(name))
        put_string(text, name);
    put(text, '>');
}

/* Functions, modules, generators and the like; false if it is none of them. */
int put_callable(Text *text, PyObject *value)
{
    PyObject *name = NULL;
    const char *kind;
    if (PyFunction_Check(value)) {
        kind = "function";
        name = Py_NewRef(((PyFunctionObject *)value)->func_qualname);
    } else if (PyCFunction_CheckExact(value)) {
        PyObject *self = PyCFunction_GET_SELF(value);
        kind = self && !PyModule_Check(self) ? "built-in method" : "built-in function";
        name = PyUnicode_FromString(((PyCFunctionObject *)value)->m_ml->ml_name);
    } else if (PyMethod_Check(value)) {
        PyObject *function = PyMethod_GET_FUNCTION(value);
        kind = "bound method";
        name = PyFunction_Check(function) ? Py_NewRef(((PyFunctionObject *)function)->func_qualname) : NULL;
    } else if (PyModule_CheckExact(value)) {
        PyObject *module = PyModule_GetNameObject(value);
        puts_ascii(text, "<module '");
        if (module && PyUnicode_Check(module))
            put_string(text, module);
        PyErr_Clear();
        Py_XDECREF(module);
        puts_ascii(text, "'>");
        return 1;
    } else if (PyGen_CheckExact(value) || PyCoro_CheckExact(value) || PyAsyncGen_CheckExact(value)) {
        kind = PyGen_CheckExact(value) ? "generator" : PyCoro_CheckExact(value) ? "coroutine" : "async generator";
        name = attribute(value, "__qualname__");
    } else if (PyCode_Check(value)) {
        kind = "code";
        name = Py_NewRef(((PyCodeObject *)value)->co_qualname);
    } else {
        return 0;
    }
    put_named(text, kind, name);
    PyErr_Clear();
    Py_XDECREF(name);
    return 1;
}

/* Types in C of the standard library whose repr asks no object of the program. */
int put_of_library(Text *text, PyObject *value)
{
    PyTypeObject *type = Py_TYPE(value);
    if (is_type_in_c(type, "decimal.Decimal") || is_type_in_c(type, "datetime.date") ||
        is_type_in_c(type, "datetime.timedelta")) {
        put_repr(text, value);
        return 1;
    }
    if (is_type_in_c(type, "datetime.datetime") || is_type_in_c(type, "datetime.time")) {
        PyObject *zone = attribute(value, "tzinfo");
        int is_known = zone == Py_None || (zone && is_type_in_c(Py_TYPE(zone), "datetime.timezone"));
        if (is_known)
            put_repr(text, value);
        Py_XDECREF(zone);
        return is_known;
    }
    if (is_type_in_c(type, "collections.deque"))
        put_deque(text, value);
    else if (is_type_in_c(type, "collections.defaultdict"))
        put_defaultdict(text, value);
    else
        return 0;
    return 1;
}
