/* Texts of instances of classes of programs: <Point x=1, y=2>. */
#include "values.h"

#include <structmember.h>

static int is_of_collections(PyTypeObject *type, const char *name)
{
    PyObject *module = is_heap(type) ? defined(type, "__module__") : NULL;
    return module && PyUnicode_CheckExact(module) && PyUnicode_CompareWithASCIIString(module, "collections") == 0 &&
           strcmp(type->tp_name, name) == 0;
}

/* The fields of a class that collections.namedtuple made, or NULL. */
static PyObject *fields_of(PyTypeObject *type)
{
    PyObject *fields = is_heap(type) ? defined(type, "_fields") : NULL;
    return fields && PyTuple_CheckExact(fields) ? fields : NULL;
}

static void put_named_tuple(Text *text, PyObject *value, PyObject *fields)
{
    if (!enter(text, value, "(...)"))
        return;
    Py_INCREF(fields);
    put_type_name(text, Py_TYPE(value));
    put(text, '(');
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value) && !text->cut; i++) {
        PyObject *name = i < PyTuple_GET_SIZE(fields) ? PyTuple_GET_ITEM(fields, i) : NULL;
        if (i)
            puts_ascii(text, ", ");
        if (name && PyUnicode_CheckExact(name)) {
            put_string(text, name);
            put(text, '=');
        }
        put_element(text, PyTuple_GET_ITEM(value, i), 1);
    }
    put(text, ')');
    Py_DECREF(fields);
    text->depth--;
}

static void put_field(Text *text, PyObject *name, PyObject *value, int *count)
{
    puts_ascii(text, (*count)++ ? ", " : " ");
    put_string(text, name);
    put(text, '=');
    put_element(text, value, 1);
}

/* The attributes in the slots of a class and those above it. */
static void put_slots(Text *text, PyObject *value, int *count)
{
    PyObject *order = Py_TYPE(value)->tp_mro, *key, *member;
    for (Py_ssize_t i = order ? PyTuple_GET_SIZE(order) : 0; i-- > 0;) {
        PyTypeObject *type = (PyTypeObject *)PyTuple_GET_ITEM(order, i);
        PyObject *dict = PyType_Check(type) && is_heap(type) ? type_dict(type) : NULL;
        Py_ssize_t position = 0;
        while (dict && !text->cut && PyDict_Next(dict, &position, &key, &member)) {
            if (!Py_IS_TYPE(member, &PyMemberDescr_Type) || PyDescr_TYPE(member) != type || !PyUnicode_CheckExact(key))
                continue; /* a slot of another class is beyond the object */
            PyMemberDef *slot = ((PyMemberDescrObject *)member)->d_member;
            PyObject *held = slot->type == T_OBJECT_EX ? *(PyObject **)((char *)value + slot->offset) : NULL;
            if (held)
                put_field(text, key, held, count);
        }
        Py_XDECREF(dict);
    }
}

static void put_attributes(Text *text, PyObject *value)
{
    int count = 0;
    put_slots(text, value, &count);
    PyObject *dict = PyObject_GenericGetDict(value, NULL), *key, *held;
    Py_ssize_t position = 0;
    if (!dict)
        PyErr_Clear();
    while (dict && PyDict_CheckExact(dict) && !text->cut && PyDict_Next(dict, &position, &key, &held))
        if (PyUnicode_CheckExact(key))
            put_field(text, key, held, &count);
    Py_XDECREF(dict);
}

/* What an instance of a subclass of a built-in type has from it. */
static void put_inherited(Text *text, PyObject *value)
{
    if (PyList_Check(value) || PyDict_Check(value) || PyTuple_Check(value) || PyAnySet_Check(value))
        put(text, ' ');
    if (PyList_Check(value)) {
        put_list(text, value);
    } else if (PyDict_Check(value)) {
        put_dict(text, value);
    } else if (PyTuple_Check(value)) {
        put_tuple(text, value);
    } else if (PyAnySet_Check(value)) {
        PyObject *iterator = PySet_Type.tp_iter(value), *element;
        int is_first = 1;
        put(text, '{');
        while (iterator && !text->cut && (element = PyIter_Next(iterator))) {
            put_element(text, element, is_first);
            is_first = 0;
            Py_DECREF(element);
        }
        PyErr_Clear();
        put(text, '}');
        Py_XDECREF(iterator);
    } else if (PyLong_Check(value)) {
        put(text, ' ');
        put_int(text, value);
    } else if (PyUnicode_Check(value)) {
        PyObject *exact = PyUnicode_FromObject(value);
        put(text, ' ');
        if (exact)
            put_str(text, exact);
        else
            PyErr_Clear();
        Py_XDECREF(exact);
    } else if (PyFloat_Check(value)) {
        PyObject *exact = PyFloat_FromDouble(PyFloat_AS_DOUBLE(value));
        put(text, ' ');
        if (exact)
            put_repr(text, exact);
        Py_XDECREF(exact);
    }
}

void put_object(Text *text, PyObject *value)
{
    PyTypeObject *type = Py_TYPE(value);
    PyObject *fields = PyTuple_Check(value) ? fields_of(type) : NULL;
    if (fields) {
        put_named_tuple(text, value, fields);
        return;
    }
    if (PyDict_Check(value) && is_of_collections(type, "Counter")) {
        put_counter(text, value);
        return;
    }
    int is_cyclic = 0;
    for (int i = 0; i < text->depth; i++)
        is_cyclic |= text->open[i] == value;
    put(text, '<');
    put_type_name(text, type);
    if (is_cyclic) {
        puts_ascii(text, " ...");
    } else if (!is_heap(type) || type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) {
        puts_ascii(text, " object");
    } else if (PyList_Check(value) || PyDict_Check(value) || PyTuple_Check(value)) {
        put_inherited(text, value); /* these open themselves */
        put_attributes(text, value);
    } else if (enter(text, value, "...")) {
        put_inherited(text, value);
        put_attributes(text, value);
        text->depth--;
    }
    put(text, '>');
}
