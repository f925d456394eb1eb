/* Texts of values, made without any code of the program: no __repr__, __str__, __eq__, __hash__ or attribute of it.

   What has a type of Python itself has its repr, other objects their class and attributes: <Point x=1, y=2>. */
#include "agn_trace.h"
#include <structmember.h>

#define MAX_DIGITS 4000 /* more take too long, and Python refuses them */

static void put(Text *text, Py_UCS4 character)
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

static void cut_here(Text *text)
{
    text->limit = text->characters;
    put(text, ' ');
}

static void put_ascii(Text *text, const char *ascii, size_t size)
{
    if (!text->cut && text->characters + size <= text->limit) {
        buffer_add(&text->text, ascii, size);
        text->characters += size;
        return;
    }
    for (size_t i = 0; i < size && !text->cut; i++)
        put(text, (unsigned char)ascii[i]);
}

static void puts_ascii(Text *text, const char *ascii)
{
    put_ascii(text, ascii, strlen(ascii));
}

/* As it is, but for surrogates, which no text in UTF-8 has. */
static void put_string(Text *text, PyObject *string)
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

/* Whether code of the program has no part in what the repr of `value` is. */
int is_plain(PyObject *value)
{
    return value == Py_None || PyUnicode_CheckExact(value) || PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
           PyBool_Check(value) || PyBytes_CheckExact(value) || PyComplex_CheckExact(value);
}

/* The repr of what is_plain, or has a type in C whose repr asks nobody. */
static void put_repr(Text *text, PyObject *value)
{
    PyObject *repr = PyObject_Repr(value);
    if (repr)
        put_string(text, repr);
    else
        PyErr_Clear();
    Py_XDECREF(repr);
}

static void put_int(Text *text, PyObject *value)
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

static void put_str(Text *text, PyObject *value)
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

static void put_bytes(Text *text, const char *type, const char *data, Py_ssize_t size)
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

/* Whether a container may be opened; `cycle` stands for one that is open already. */
static int enter(Text *text, PyObject *value, const char *cycle)
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

static void put_element(Text *text, PyObject *value, int is_first)
{
    if (!is_first)
        put_ascii(text, ", ", 2);
    Py_INCREF(value);
    render_value(text, value);
    Py_DECREF(value);
}

static void put_list(Text *text, PyObject *value)
{
    if (!enter(text, value, "[...]"))
        return;
    put(text, '[');
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value) && !text->cut; i++)
        put_element(text, PyList_GET_ITEM(value, i), i == 0);
    put(text, ']');
    text->depth--;
}

static void put_tuple(Text *text, PyObject *value)
{
    if (!enter(text, value, "(...)"))
        return;
    put(text, '(');
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value) && !text->cut; i++)
        put_element(text, PyTuple_GET_ITEM(value, i), i == 0);
    if (PyTuple_GET_SIZE(value) == 1)
        put(text, ',');
    put(text, ')');
    text->depth--;
}

/* The elements of a type in C, by its own iterator. */
static void put_iterated(Text *text, PyObject *value)
{
    PyObject *iterator = PyObject_GetIter(value), *element;
    int is_first = 1;
    while (iterator && !text->cut && (element = PyIter_Next(iterator))) {
        put_element(text, element, is_first);
        is_first = 0;
        Py_DECREF(element);
    }
    PyErr_Clear();
    Py_XDECREF(iterator);
}

static void put_between(Text *text, PyObject *value, const char *start, const char *end, const char *cycle)
{
    if (!enter(text, value, cycle))
        return;
    puts_ascii(text, start);
    put_iterated(text, value);
    puts_ascii(text, end);
    text->depth--;
}

static void put_set(Text *text, PyObject *value, const char *name)
{
    if (PySet_GET_SIZE(value) == 0) {
        puts_ascii(text, name);
        puts_ascii(text, "()");
        return;
    }
    int is_set = PySet_CheckExact(value);
    if (!is_set) {
        puts_ascii(text, name);
        put(text, '(');
    }
    put_between(text, value, "{", "}", is_set ? "set(...)" : "...");
    if (!is_set)
        put(text, ')');
}

static void put_items(Text *text, PyObject *value)
{
    Py_ssize_t position = 0;
    PyObject *key, *item;
    int is_first = 1;
    while (!text->cut && PyDict_Next(value, &position, &key, &item)) {
        Py_INCREF(item);
        put_element(text, key, is_first);
        puts_ascii(text, ": ");
        render_value(text, item);
        Py_DECREF(item);
        is_first = 0;
    }
}

static void put_dict(Text *text, PyObject *value)
{
    if (!enter(text, value, "{...}"))
        return;
    put(text, '{');
    put_items(text, value);
    put(text, '}');
    text->depth--;
}

/* Whether the keys of a dictionary are compared without code of the program. */
static int has_plain_keys(PyObject *value)
{
    Py_ssize_t position = 0;
    PyObject *key, *item;
    while (PyDict_Next(value, &position, &key, &item))
        if (!is_plain(key))
            return 0;
    return 1;
}

static void put_ordered(Text *text, PyObject *value)
{
    puts_ascii(text, "OrderedDict(");
    if (PyDict_GET_SIZE(value) && enter(text, value, "...")) {
        PyObject *in_order = has_plain_keys(value) ? PyODict_Type.tp_iter(value) : NULL, *key;
        int is_first = 1, pairs = PY_VERSION_HEX < 0x030C0000;
        put(text, pairs ? '[' : '{');
        while (in_order && !text->cut && (key = PyIter_Next(in_order))) {
            PyObject *item = Py_XNewRef(PyDict_GetItemWithError(value, key));
            if (!is_first)
                puts_ascii(text, ", ");
            if (pairs)
                put(text, '(');
            render_value(text, key);
            puts_ascii(text, pairs ? ", " : ": ");
            if (item)
                render_value(text, item);
            if (pairs)
                put(text, ')');
            is_first = 0;
            Py_XDECREF(item);
            Py_DECREF(key);
        }
        PyErr_Clear();
        if (!in_order)
            put_items(text, value);
        put(text, pairs ? ']' : '}');
        Py_XDECREF(in_order);
        text->depth--;
    }
    put(text, ')');
}

/* An attribute of an object whose type is in C; NULL without an error if there is none. */
static PyObject *attribute(PyObject *value, const char *name)
{
    PyObject *found = PyObject_GetAttrString(value, name);
    if (!found)
        PyErr_Clear();
    return found;
}

static void put_attribute(Text *text, PyObject *value, const char *name)
{
    PyObject *found = attribute(value, name);
    if (found)
        render_value(text, found);
    Py_XDECREF(found);
}

static void put_deque(Text *text, PyObject *value)
{
    if (!enter(text, value, "[...]"))
        return;
    puts_ascii(text, "deque([");
    put_iterated(text, value);
    put(text, ']');
    PyObject *most = attribute(value, "maxlen");
    if (most && most != Py_None) {
        puts_ascii(text, ", maxlen=");
        render_value(text, most);
    }
    Py_XDECREF(most);
    put(text, ')');
    text->depth--;
}

static void put_defaultdict(Text *text, PyObject *value)
{
    puts_ascii(text, "defaultdict(");
    put_attribute(text, value, "default_factory");
    puts_ascii(text, ", ");
    put_dict(text, value);
    put(text, ')');
}

static void put_range(Text *text, PyObject *value)
{
    puts_ascii(text, "range(");
    put_attribute(text, value, "start");
    puts_ascii(text, ", ");
    put_attribute(text, value, "stop");
    PyObject *step = attribute(value, "step");
    if (step && !(PyLong_CheckExact(step) && PyLong_AsLong(step) == 1)) {
        puts_ascii(text, ", ");
        render_value(text, step);
    }
    PyErr_Clear();
    Py_XDECREF(step);
    put(text, ')');
}

static void put_slice(Text *text, PyObject *value)
{
    if (!enter(text, value, "..."))
        return;
    puts_ascii(text, "slice(");
    PySliceObject *slice = (PySliceObject *)value;
    put_element(text, slice->start, 1);
    put_element(text, slice->stop, 0);
    put_element(text, slice->step, 0);
    put(text, ')');
    text->depth--;
}

static int is_heap(PyTypeObject *type)
{
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
}

/* Whether a type is one in C called `name`: no program can make one. */
static int is_type_in_c(PyTypeObject *type, const char *name)
{
    return (!is_heap(type) || type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) && strcmp(type->tp_name, name) == 0;
}

static PyObject *type_dict(PyTypeObject *type)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyType_GetDict(type);
#else
    return Py_XNewRef(type->tp_dict);
#endif
}

/* What the class itself defines as `name`, borrowed from it; NULL if it does not. */
static PyObject *defined(PyTypeObject *type, const char *name)
{
    PyObject *dict = type_dict(type), *found = NULL;
    if (dict && PyDict_CheckExact(dict))
        found = PyDict_GetItemString(dict, name);
    PyErr_Clear();
    Py_XDECREF(dict);
    return found;
}

static void put_type_name(Text *text, PyTypeObject *type)
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
static void put_module(Text *text, PyTypeObject *type, const char *unnamed)
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

static void put_class(Text *text, PyTypeObject *type)
{
    puts_ascii(text, "<class '");
    put_module(text, type, "");
    put_type_name(text, type);
    puts_ascii(text, "'>");
}

static int is_of_collections(PyTypeObject *type, const char *name)
{
    PyObject *module = is_heap(type) ? defined(type, "__module__") : NULL;
    return module && PyUnicode_CheckExact(module) && PyUnicode_CompareWithASCIIString(module, "collections") == 0 &&
           strcmp(type->tp_name, name) == 0;
}

static int is_more(PyObject *item, PyObject *other)
{
    return PyLong_AsLong(item) > PyLong_AsLong(other);
}

/* The most common first, as its repr has them, where the counts are small integers. */
static void put_counter(Text *text, PyObject *value)
{
    Py_ssize_t size = PyDict_GET_SIZE(value), count = 0, position = 0;
    PyObject *key, *item, **pairs = size ? malloc(2 * (size_t)size * sizeof *pairs) : NULL;
    int sorted = size <= 1000;
    puts_ascii(text, "Counter(");
    while (pairs && count < size && PyDict_Next(value, &position, &key, &item)) {
        pairs[2 * count] = Py_NewRef(key);
        pairs[2 * count++ + 1] = Py_NewRef(item);
        sorted = sorted && PyLong_CheckExact(item) && _PyLong_NumBits(item) < 60;
    }
    for (Py_ssize_t i = 1; sorted && i < count; i++)
        for (Py_ssize_t j = i; j > 0 && is_more(pairs[2 * j + 1], pairs[2 * j - 1]); j--)
            for (int part = 0; part < 2; part++) {
                PyObject *moved = pairs[2 * j + part];
                pairs[2 * j + part] = pairs[2 * j - 2 + part];
                pairs[2 * j - 2 + part] = moved;
            }
    if (count && enter(text, value, "...")) {
        for (Py_ssize_t i = 0; i < count && !text->cut; i++) {
            puts_ascii(text, i ? ", " : "{");
            render_value(text, pairs[2 * i]);
            puts_ascii(text, ": ");
            render_value(text, pairs[2 * i + 1]);
        }
        put(text, '}');
        text->depth--;
    }
    put(text, ')');
    for (Py_ssize_t i = 0; i < 2 * count; i++)
        Py_DECREF(pairs[i]);
    free(pairs);
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

static void put_object(Text *text, PyObject *value)
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

static void put_named(Text *text, const char *kind, PyObject *name)
{
    put(text, '<');
    puts_ascii(text, kind);
    put(text, ' ');
    if (name && PyUnicode_Check(name))
        put_string(text, name);
    put(text, '>');
}

static void put_exception(Text *text, PyObject *value)
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

/* Functions, modules, generators and the like; false if it is none of them. */
static int put_callable(Text *text, PyObject *value)
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
static int put_of_library(Text *text, PyObject *value)
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
