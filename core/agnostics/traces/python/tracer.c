/* The tracer of Python programs: the module agn_trace, whose run(path) executes a program and writes its events.

   State at a line event is that before the line is executed. Only scopes whose code stands in the program's file are
   traced, of the first thread; comprehensions are part of the scope around them, as they are since Python 3.12. */
#define Py_BUILD_CORE
#include "agn_trace.h"
#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#undef Py_BUILD_CORE

#include <limits.h>

#define MARKER "# << START_OF_TRACE"
#define HELD_CHARACTERS 64 /* of a string that is kept: a longer one that grows would be copied each time */

/* One name of a scope: the text of its value when it was last looked at. */
typedef struct {
    PyObject *name; /* of a scope that is a dictionary */
    PyObject *held; /* the value, if it cannot change and is small */
    Buffer text;
    int present, seen;
} Slot;

typedef struct {
    PyFrameObject *frame;
    PyCodeObject *code;
    Slot *slots;
    int count, capacity; /* of the slots */
    int line;
} Scope;

static struct {
    long max_events, max_depth, max_value;
    long events;
    int off, started, marked_line, lines;
    int *definitions; /* for each line, that of the `def` that its decorators belong to */
    PyObject *path;
    Scope *scopes;
    int depth, capacity; /* of the scopes: those that are open, and those that there is memory for */
    Text text;
    Buffer line, changed, gone, cut;
} tracer;

static long limit_of(const char *name, long otherwise)
{
    const char *set = getenv(name);
    return set ? strtol(set, NULL, 10) : otherwise;
}

static void end(const char *reason)
{
    tracer.off = 1;
    file_end(reason);
}

/* A limit ends the trace, not the program. */
static void stop(const char *reason)
{
    end(reason);
    PyEval_SetTrace(NULL, NULL);
}

static inline void add_word(Buffer *buffer, const char *word)
{
    buffer_add(buffer, word, strlen(word));
}

static void add_name(Buffer *buffer, PyObject *name)
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
    add_word(list, list->size ? "," : "");
    add_name(list, name);
}

static void start_text(void)
{
    tracer.text.text.size = tracer.text.characters = 0;
    tracer.text.limit = (size_t)tracer.max_value;
    tracer.text.cut = tracer.text.depth = 0;
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
static void look(Slot *slot, PyObject *name, PyObject *value)
{
    if (!value) {
        if (slot->present)
            add_element(&tracer.gone, name);
        slot->present = 0;
        hold(slot, NULL);
        return;
    }
    if (slot->present && slot->held == value)
        return;
    Text *text = &tracer.text;
    start_text();
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
    add_element(&tracer.changed, name);
    add_word(&tracer.changed, ":");
    buffer_json(&tracer.changed, slot->text.data, slot->text.size);
    if (text->cut)
        add_element(&tracer.cut, name);
}

static void reserve_slots(Scope *scope, int count)
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

static void look_at_fast_locals(Scope *scope)
{
    PyCodeObject *code = scope->code;
    PyObject **values = scope->frame->f_frame->localsplus;
    for (int i = 0; i < scope->count; i++) {
        PyObject *name = PyTuple_GET_ITEM(code->co_localsplusnames, i), *value = values[i];
        int kind = PyBytes_AS_STRING(code->co_localspluskinds)[i];
        if (value && kind & (CO_FAST_CELL | CO_FAST_FREE) && PyCell_Check(value))
            value = ((PyCellObject *)value)->ob_ref;
        if (PyUnicode_GET_LENGTH(name) == 0 || PyUnicode_READ_CHAR(name, 0) != '.')
            look(&scope->slots[i], name, value);
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

static void look_at_dictionary(Scope *scope)
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
        look(&scope->slots[next], scope->slots[next].name, value);
        next++;
    }
    for (int i = 0; i < scope->count; i++)
        if (!scope->slots[i].seen && scope->slots[i].present)
            look(&scope->slots[i], scope->slots[i].name, NULL);
}

static int is_dictionary(const PyCodeObject *code)
{
    return !(code->co_flags & CO_OPTIMIZED);
}

static void look_at_locals(Scope *scope)
{
    if (is_dictionary(scope->code))
        look_at_dictionary(scope);
    else
        look_at_fast_locals(scope);
}

static void add_part(const char *start, const Buffer *part, const char *end_of_part)
{
    if (!part->size)
        return;
    add_word(&tracer.line, start);
    buffer_add(&tracer.line, part->data, part->size);
    add_word(&tracer.line, end_of_part);
}

static void start_event(const char *start, int line)
{
    tracer.line.size = tracer.changed.size = tracer.gone.size = tracer.cut.size = 0;
    add_word(&tracer.line, start);
    buffer_number(&tracer.line, line);
    add_word(&tracer.line, ",\"d\":");
    buffer_number(&tracer.line, tracer.depth - 1);
}

static void write_event(void)
{
    add_part(",\"v\":{", &tracer.changed, "}");
    add_part(",\"g\":[", &tracer.gone, "]");
    add_part(",\"c\":[", &tracer.cut, "]");
    add_word(&tracer.line, "}\n");
    if (tracer.events++ == tracer.max_events)
        stop("events");
    else if (!file_add(tracer.line.data, tracer.line.size))
        stop("bytes");
}

static int is_of_program(int line)
{
    return line > 0 && line <= tracer.lines;
}

static void write_with_locals(const char *start, Scope *scope, int line, PyObject *name)
{
    if (!is_of_program(line))
        return;
    start_event(start, line);
    if (name) {
        add_word(&tracer.line, ",\"f\":");
        add_name(&tracer.line, name);
    }
    look_at_locals(scope);
    write_event();
}

/* With the text that tracer.text has. */
static void write_with_text(const char *start, const Scope *scope)
{
    int line = scope->line ? scope->line : PyFrame_GetLineNumber(scope->frame);
    if (!is_of_program(line))
        return;
    start_event(start, line);
    add_word(&tracer.line, ",\"r\":");
    buffer_json(&tracer.line, tracer.text.text.data, tracer.text.text.size);
    if (tracer.text.cut)
        add_word(&tracer.cut, "\"value\"");
    write_event();
}

static void forget(Scope *scope)
{
    for (int i = 0; i < scope->count; i++) {
        Slot *slot = &scope->slots[i];
        slot->present = 0;
        Py_CLEAR(slot->held);
        Py_CLEAR(slot->name);
    }
    scope->count = 0;
    scope->frame = NULL;
}

static Scope *push(PyFrameObject *frame, PyCodeObject *code)
{
    if (tracer.depth == tracer.capacity) {
        int capacity = tracer.capacity + 64;
        tracer.scopes = realloc(tracer.scopes, (size_t)capacity * sizeof(Scope));
        if (!tracer.scopes)
            Py_FatalError("no memory for the trace");
        memset(tracer.scopes + tracer.capacity, 0, 64 * sizeof(Scope));
        tracer.capacity = capacity;
    }
    Scope *scope = &tracer.scopes[tracer.depth++];
    scope->frame = frame;
    scope->code = code;
    scope->line = 0;
    if (!is_dictionary(code)) {
        reserve_slots(scope, code->co_nlocalsplus);
        scope->count = code->co_nlocalsplus;
    }
    return scope;
}

static int is_comprehension(const PyCodeObject *code)
{
    return PyUnicode_CompareWithASCIIString(code->co_name, "<listcomp>") == 0 ||
           PyUnicode_CompareWithASCIIString(code->co_name, "<setcomp>") == 0 ||
           PyUnicode_CompareWithASCIIString(code->co_name, "<dictcomp>") == 0;
}

static void called(PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    Py_DECREF(code); /* the frame has it */
    if (code->co_filename != tracer.path || !is_of_program(code->co_firstlineno) || tracer.depth > tracer.max_depth)
        return;
    int line = tracer.definitions[code->co_firstlineno];
    if (!tracer.started && (line != tracer.marked_line || code->co_name == NULL || is_dictionary(code)))
        return;
    if (code->co_name && PyUnicode_READ_CHAR(code->co_name, 0) == '<' && is_comprehension(code))
        return;
    tracer.started = 1;
    Scope *scope = push(frame, code);
    int is_module = is_dictionary(code) && tracer.depth == 1;
    if (!is_module)
        write_with_locals("{\"e\":\"call\",\"l\":", scope, line, code->co_qualname);
}

static void returned(Scope *scope, PyObject *value)
{
    start_text();
    render_value(&tracer.text, value ? value : Py_None);
    write_with_text("{\"e\":\"return\",\"l\":", scope);
    forget(scope);
    if (--tracer.depth == 0 && tracer.marked_line && !tracer.off)
        stop("complete");
}

static void raised(const Scope *scope, PyObject *triple)
{
    PyObject *exception = PyTuple_Check(triple) && PyTuple_GET_SIZE(triple) > 1 ? PyTuple_GET_ITEM(triple, 1) : NULL;
    start_text();
    if (exception && PyExceptionInstance_Check(exception))
        render_exception(&tracer.text, exception);
    write_with_text("{\"e\":\"exception\",\"l\":", scope);
}

static int trace(PyObject *object, PyFrameObject *frame, int event, PyObject *argument)
{
    (void)object;
    if (tracer.off)
        return 0;
    if (event == PyTrace_CALL) {
        called(frame);
        return 0;
    }
    Scope *scope = tracer.depth ? &tracer.scopes[tracer.depth - 1] : NULL;
    if (!scope || scope->frame != frame)
        return 0;
    if (event == PyTrace_LINE) {
        scope->line = PyFrame_GetLineNumber(frame);
        write_with_locals("{\"e\":\"line\",\"l\":", scope, scope->line, NULL);
    } else if (event == PyTrace_RETURN) {
        returned(scope, argument);
    } else if (event == PyTrace_EXCEPTION) {
        raised(scope, argument);
    }
    return 0;
}

/* Whether the first word of a line is this one. */
static int begins(const char *line, const char *stop_at, const char *word)
{
    size_t size = strlen(word);
    while (line < stop_at && (*line == ' ' || *line == '\t' || *line == '\f'))
        line++;
    return (size_t)(stop_at - line) >= size && memcmp(line, word, size) == 0;
}

static const char *end_of_line(const char *line, const char *stop_at)
{
    while (line < stop_at && *line != '\n' && *line != '\r')
        line++;
    return line;
}

static const char *next_line(const char *line_end, const char *stop_at)
{
    if (line_end < stop_at && *line_end == '\r')
        return line_end + 1 + (line_end + 1 < stop_at && line_end[1] == '\n');
    return line_end + 1;
}

/* Counts the lines of the program, and finds the marker and the `def` below each decorator. */
static int read_lines(const char *source, Py_ssize_t size)
{
    const char *stop_at = source + size;
    tracer.definitions = malloc(((size_t)size + 2) * sizeof(int));
    if (!tracer.definitions)
        return 0;
    int decorated = 0; /* the first line of the decorators above this line */
    for (const char *line = source; line < stop_at || line == source; line = next_line(end_of_line(line, stop_at), stop_at)) {
        const char *line_end = end_of_line(line, stop_at);
        int number = ++tracer.lines;
        int defines = begins(line, line_end, "def ") || begins(line, line_end, "async def ");
        tracer.definitions[number] = number;
        if (defines && memmem(line, (size_t)(line_end - line), MARKER, strlen(MARKER)) && !tracer.marked_line)
            tracer.marked_line = number;
        if (defines || begins(line, line_end, "class ")) {
            for (int above = decorated; above && above < number; above++)
                tracer.definitions[above] = number;
            decorated = 0;
        } else if (begins(line, line_end, "@") && !decorated) {
            decorated = number;
        }
    }
    tracer.started = !tracer.marked_line;
    return 1;
}

static PyObject *read_program(PyObject *path)
{
    PyObject *file = PyObject_CallMethod(PyImport_AddModule("io"), "open", "Os", path, "rb");
    PyObject *source = file ? PyObject_CallMethod(file, "read", NULL) : NULL;
    PyObject *closed = file ? PyObject_CallMethod(file, "close", NULL) : NULL;
    Py_XDECREF(closed);
    Py_XDECREF(file);
    return source;
}

static PyObject *make_main(PyObject *path)
{
    PyObject *module = PyModule_New("__main__"), *modules = PyImport_GetModuleDict();
    PyObject *arguments = Py_BuildValue("[O]", path);
    int failed = !module || !arguments || PyModule_AddObjectRef(module, "__file__", path) ||
                 PyModule_AddObjectRef(module, "__builtins__", PyImport_AddModule("builtins")) ||
                 PyDict_SetItemString(modules, "__main__", module) || PySys_SetObject("argv", arguments);
    Py_XDECREF(arguments);
    if (failed)
        Py_CLEAR(module);
    return module;
}

static PyObject *execute(PyObject *source, PyObject *path)
{
    PyObject *builtins = PyImport_AddModule("builtins");
    PyObject *code = PyObject_CallMethod(builtins, "compile", "OOsii", source, path, "exec", 0, 1);
    PyObject *module = code ? make_main(path) : NULL, *result = NULL;
    if (module) {
        PyObject *names = PyModule_GetDict(module);
        PyEval_SetTrace(trace, NULL);
        result = PyEval_EvalCode(code, names, names);
    }
    Py_XDECREF(module);
    Py_XDECREF(code);
    return result;
}

/* The program may have removed the tracer, or set another. */
static int is_tracing(void)
{
    return PyThreadState_Get()->c_tracefunc == trace;
}

static PyObject *run(PyObject *module, PyObject *path)
{
    (void)module;
    const char *target = getenv("AGN_TRACE");
    tracer.max_events = limit_of("AGN_TRACE_EVENTS", 100000);
    tracer.max_depth = limit_of("AGN_TRACE_DEPTH", 100);
    tracer.max_value = limit_of("AGN_TRACE_VALUE", 1000);
    if (!target || !file_open(target, (size_t)limit_of("AGN_TRACE_BYTES", 16 << 20)))
        return PyErr_SetFromErrnoWithFilename(PyExc_OSError, target ? target : "AGN_TRACE");
    tracer.path = Py_NewRef(path);
    PyObject *source = read_program(path);
    if (!source || !read_lines(PyBytes_AS_STRING(source), PyBytes_GET_SIZE(source)))
        return NULL;
    PyObject *result = execute(source, path);
    if (!tracer.off) {
        int is_syntax_error = !result && !PyThreadState_Get()->c_tracefunc && !tracer.events;
        end(is_tracing() || is_syntax_error ? "complete" : "removed");
    }
    PyEval_SetTrace(NULL, NULL);
    Py_DECREF(source);
    if (!result)
        PyErr_Print(); /* and exits, for SystemExit */
    Py_XDECREF(result);
    return PyBool_FromLong(result != NULL);
}

static PyMethodDef methods[] = {
    {"run", run, METH_O, "Execute the program in the file, and write its trace to the file named by AGN_TRACE."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "agn_trace", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit_agn_trace(void)
{
    return PyModule_Create(&definition);
}
