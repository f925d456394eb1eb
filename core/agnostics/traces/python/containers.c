/* Texts of what has elements. */
#include "values.h"

void put_element(Text *text, PyObject *value, int is_first)
{
    if (!is_first)
        put_ascii(text, ", ", 2);
    Py_INCREF(value);
    render_value(text, value);
    Py_DECREF(value);
}

void put_list(Text *text, PyObject *value)
{
    if (!enter(text, value, "[...]"))
        return;
    put(text, '[');
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value) && !text->cut; i++)
        put_element(text, PyList_GET_ITEM(value, i), i == 0);
    put(text, ']');
    text->depth--;
}

void put_tuple(Text *text, PyObject *value)
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

void put_between(Text *text, PyObject *value, const char *start, const char *end, const char *cycle)
{
    if (!enter(text, value, cycle))
        return;
    puts_ascii(text, start);
    put_iterated(text, value);
    puts_ascii(text, end);
    text->depth--;
}

void put_set(Text *text, PyObject *value, const char *name)
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

void put_dict(Text *text, PyObject *value)
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

void put_ordered(Text *text, PyObject *value)
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

void put_deque(Text *text, PyObject *value)
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

static void put_attribute(Text *text, PyObject *value, const char *name)
{
    PyObject *found = attribute(value, name);
    if (found)
        render_value(text, found);
    Py_XDECREF(found);
}

void put_defaultdict(Text *text, PyObject *value)
{
    puts_ascii(text, "defaultdict(");
    put_attribute(text, value, "default_factory");
    puts_ascii(text, ", ");
    put_dict(text, value);
    put(text, ')');
}

void put_range(Text *text, PyObject *value)
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

void put_slice(Text *text, PyObject *value)
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

static int is_more(PyObject *item, PyObject *other)
{
    return PyLong_AsLong(item) > PyLong_AsLong(other);
}

/* The most common first, as its repr has them, where the counts are small integers. */
void put_counter(Text *text, PyObject *value)
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
