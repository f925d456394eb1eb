/* The locals of a scope: which have changed, and which are gone, since it was last looked at. */
#define Py_BUILD_CORE
#include "tracer.h"
#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#undef Py_BUILD_CORE

#include <limits.h>

#define HELD_CHARACTERS 64 /* of a string that is kept: a longer one that grows would be copied each time */

void add_name(Buffer *buffer, PyObject *name)
{
    if (PyUnicode_IS_ASCII(name)) {
        buffer_json(buffer, PyUnicode_DATA(name), (size_t)PyUnicode_GET_LENGTH(name));
        return;
    }
    Text text = {.limit = LONG_MAX};
    render_name(&text, name);
    buffer_json(buffer, text.text.data, text.text.size);
    free(text.text.data);
}

static void add_element(Buffer *list, PyObject *name)
{
    buffer_word(list, list->size ? "," : "");
    add_name(list, name);
}

void start_text(Changes *changes)
{
    changes->text.text.size = changes->text.characters = 0;
    changes->text.limit = (size_t)changes->max_value;
    changes->text.cut = changes->text.depth = 0;
}

static void hold(Slot *slot, PyObject *value)
{
    int small = value && is_plain(value) && !PyBytes_CheckExact(value);
    if (small && PyUnicode_CheckExact(value))
        small = PyUnicode_GET_LENGTH(value) <= HELD_CHARACTERS;
    else if (small && PyLong_CheckExact(value))
        small = _PyLong_NumBits(value) <= 64;
    PyObject *old = slot->held;
    slot->held = small ? Py_NewRef(value) : NULL;
    Py_XDECREF(old);
}

/* Notes what has become of a name whose value is `value`, or that has none (NULL). */
static void look(Changes *changes, Slot *slot, PyObject *name, PyObject *value)
{
    if (!value) {
        if (slot->present)
            add_element(&changes->gone, name);
        slot->present = 0;
        hold(slot, NULL);
        return;
    }
    if (slot->present && slot->held == value)
        return;
    Text *text = &changes->text;
    start_text(changes);
    Py_INCREF(value);
    render_value(text, value);
    hold(slot, value);
    Py_DECREF(value);
    if (slot->present && slot->text.size == text->text.size && !memcmp(slot->text.data, text->text.data, slot->text.size))
        return;
    slot->present = 1;
    Buffer other = slot->text;
    slot->text = text->text;
    text->text = other;
    add_element(&changes->changed, name);
    buffer_word(&changes->changed, ":");
    buffer_json(&changes->changed, slot->text.data, slot->text.size);
    if (text->cut)
        add_element(&changes->cut, name);
}

void reserve_slots(Scope *scope, int count)
{
    if (count <= scope->capacity)
        return;
    int capacity = count + count / 2 + 8;
    scope->slots = realloc(scope->slots, (size_t)capacity * sizeof(Slot));
    if (!scope->slots)
        Py_FatalError("no memory for the trace");
    memset(scope->slots + scope->capacity, 0, (size_t)(capacity - scope->capacity) * sizeof(Slot));
    scope->capacity = capacity;
}

static void look_at_fast_locals(Changes *changes, Scope *scope)
{
    PyCodeObject *code = scope->code;
    PyObject **values = scope->frame->f_frame->localsplus;
    for (int i = 0; i < scope->count; i++) {
        PyObject *name = PyTuple_GET_ITEM(code->co_localsplusnames, i), *value = values[i];
        int kind = PyBytes_AS_STRING(code->co_localspluskinds)[i];
        if (value && kind & (CO_FAST_CELL | CO_FAST_FREE) && PyCell_Check(value))
            value = ((PyCellObject *)value)->ob_ref;
        if (PyUnicode_GET_LENGTH(name) == 0 || PyUnicode_READ_CHAR(name, 0) != '.')
            look(changes, &scope->slots[i], name, value);
    }
}

/* Whether a name of a module or class is one that Python has put there. */
static int is_pythons(PyObject *name)
{
    Py_ssize_t size = PyUnicode_GET_LENGTH(name);
    return size > 4 && PyUnicode_READ_CHAR(name, 0) == '_' && PyUnicode_READ_CHAR(name, 1) == '_' &&
           PyUnicode_READ_CHAR(name, size - 1) == '_' && PyUnicode_READ_CHAR(name, size - 2) == '_';
}

/* The slot of a name; `next` is the one that it has if no name has gone. */
static int slot_of(Scope *scope, PyObject *name, int next)
{
    if (next < scope->count && scope->slots[next].name == name)
        return next;
    for (int i = 0; i < scope->count; i++) {
        PyObject *other = scope->slots[i].name;
        if (other == name || (other && PyUnicode_Compare(other, name) == 0))
            return i;
    }
    reserve_slots(scope, scope->count + 1);
    scope->slots[scope->count].name = Py_NewRef(name);
    return scope->count++;
}

static void look_at_dictionary(Changes *changes, Scope *scope)
{
    PyObject *locals = scope->frame->f_frame->f_locals, *name, *value;
    Py_ssize_t position = 0;
    int next = 0;
    if (!locals || !PyDict_CheckExact(locals))
        return;
    for (int i = 0; i < scope->count; i++)
        scope->slots[i].seen = 0;
    while (PyDict_Next(locals, &position, &name, &value)) {
        if (!PyUnicode_CheckExact(name) || is_pythons(name))
            continue;
        next = slot_of(scope, name, next);
        scope->slots[next].seen = 1;
        look(changes, &scope->slots[next], scope->slots[next].name, value);
        next++;
    }
    for (int i = 0; i < scope->count; i++)
        if (!scope->slots[i].seen && scope->slots[i].present)
            look(changes, &scope->slots[i], scope->slots[i].name, NULL);
}

int is_dictionary(const PyCodeObject *code)
{
    return !(code->co_flags & CO_OPTIMIZED);
}

void look_at_locals(Changes *changes, Scope *scope)
{
    if (is_dictionary(scope->code))
        look_at_dictionary(changes, scope);
    else
        look_at_fast_locals(changes, scope);
}
