/* Texts of values, made without any code of the program: no __repr__, __str__, __eq__, __hash__ or attribute of it.

   What has a type of Python itself has its repr, other objects their class and attributes: <Point x=1, y=2>. */
#include "values.h"

void render_value(Text *text, PyObject *value)
{
    PyTypeObject *type = Py_TYPE(value);
    if (text->cut)
        return;
    if (PyLong_CheckExact(value))
        put_int(text, value);
    else if (PyUnicode_CheckExact(value))
        put_str(text, value);
    else if (type == &PyList_Type)
        put_list(text, value);
    else if (type == &PyTuple_Type)
        put_tuple(text, value);
    else if (type == &PyDict_Type)
        put_dict(text, value);
    else if (type == &PyFloat_Type || type == &PyBool_Type || type == &PyComplex_Type || value == Py_None ||
             value == Py_Ellipsis || value == Py_NotImplemented)
        put_repr(text, value);
    else if (type == &PySet_Type || type == &PyFrozenSet_Type)
        put_set(text, value, type == &PySet_Type ? "set" : "frozenset");
    else if (type == &PyBytes_Type)
        put_bytes(text, "", PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value));
    else if (type == &PyByteArray_Type)
        put_bytes(text, "bytearray(", PyByteArray_AS_STRING(value), PyByteArray_GET_SIZE(value));
    else if (type == &PyRange_Type)
        put_range(text, value);
    else if (type == &PySlice_Type)
        put_slice(text, value);
    else if (type == &PyDictKeys_Type)
        put_between(text, value, "dict_keys([", "])", "...");
    else if (type == &PyDictValues_Type)
        put_between(text, value, "dict_values([", "])", "...");
    else if (type == &PyDictItems_Type)
        put_between(text, value, "dict_items([", "])", "...");
    else if (type == &PyODict_Type)
        put_ordered(text, value);
    else if (PyType_Check(value))
        put_class(text, (PyTypeObject *)value);
    else if (PyExceptionInstance_Check(value))
        put_exception(text, value);
    else if (!put_callable(text, value) && !put_of_library(text, value))
        put_object(text, value);
}
