/* The tracer of Python programs: the module agn_trace, whose run(path) executes a program and writes its events.

   State at a line event is that before the line is executed. Only scopes whose code stands in the program's file are
   traced, of the first thread; comprehensions are part of the scope around them, as they are since Python 3.12. */
#include "tracer.h"

static struct {
    long max_events, max_depth;
    long events;
    int off, started;
    Lines program;
    PyObject *path;
    Scope *scopes;
    int depth, capacity; /* of the scopes: those that are open, and those that there is memory for */
    Buffer line;
    Changes changes;
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

static void add_part(const char *start, const Buffer *part, const char *end_of_part)
{
    if (!part->size)
        return;
    buffer_word(&tracer.line, start);
    buffer_add(&tracer.line, part->data, part->size);
    buffer_word(&tracer.line, end_of_part);
}

static void start_event(const char *start, int line)
{
    tracer.line.size = tracer.changes.changed.size = tracer.changes.gone.size = tracer.changes.cut.size = 0;
    buffer_word(&tracer.line, start);
    buffer_number(&tracer.line, line);
    buffer_word(&tracer.line, ",\"d\":");
    buffer_number(&tracer.line, tracer.depth - 1);
}

static void write_event(void)
{
    add_part(",\"v\":{", &tracer.changes.changed, "}");
    add_part(",\"g\":[", &tracer.changes.gone, "]");
    add_part(",\"c\":[", &tracer.changes.cut, "]");
    buffer_word(&tracer.line, "}\n");
    if (tracer.events++ == tracer.max_events)
        stop("events");
    else if (!file_add(tracer.line.data, tracer.line.size))
        stop("bytes");
}

static int is_of_program(int line)
{
    return line > 0 && line <= tracer.program.count;
}

static void write_with_locals(const char *start, Scope *scope, int line, PyObject *name)
{
    if (!is_of_program(line))
        return;
    start_event(start, line);
    if (name) {
        buffer_word(&tracer.line, ",\"f\":");
        add_name(&tracer.line, name);
    }
    look_at_locals(&tracer.changes, scope);
    write_event();
}

/* With the text that tracer.changes.text has. */
static void write_with_text(const char *start, const Scope *scope)
{
    int line = scope->line ? scope->line : PyFrame_GetLineNumber(scope->frame);
    if (!is_of_program(line))
        return;
    start_event(start, line);
    buffer_word(&tracer.line, ",\"r\":");
    buffer_json(&tracer.line, tracer.changes.text.text.data, tracer.changes.text.text.size);
    if (tracer.changes.text.cut)
        buffer_word(&tracer.changes.cut, "\"value\"");
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
    int line = tracer.program.definitions[code->co_firstlineno];
    if (!tracer.started && (line != tracer.program.marked || is_dictionary(code)))
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
    start_text(&tracer.changes);
    render_value(&tracer.changes.text, value ? value : Py_None);
    write_with_text("{\"e\":\"return\",\"l\":", scope);
    forget(scope);
    if (--tracer.depth == 0 && tracer.program.marked && !tracer.off)
        stop("complete");
}

static void raised(const Scope *scope, PyObject *triple)
{
    PyObject *exception = PyTuple_Check(triple) && PyTuple_GET_SIZE(triple) > 1 ? PyTuple_GET_ITEM(triple, 1) : NULL;
    start_text(&tracer.changes);
    if (exception && PyExceptionInstance_Check(exception))
        render_exception(&tracer.changes.text, exception);
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
    tracer.changes.max_value = limit_of("AGN_TRACE_VALUE", 1000);
    if (!target || !file_open(target, (size_t)limit_of("AGN_TRACE_BYTES", 16 << 20)))
        return PyErr_SetFromErrnoWithFilename(PyExc_OSError, target ? target : "AGN_TRACE");
    tracer.path = Py_NewRef(path);
    PyObject *source = read_program(path);
    if (!source || !read_lines(&tracer.program, PyBytes_AS_STRING(source), PyBytes_GET_SIZE(source)))
        return NULL;
    tracer.started = !tracer.program.marked;
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
