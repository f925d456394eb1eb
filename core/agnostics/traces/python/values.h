/* What the files of texts of values share. */
#ifndef VALUES_H
#define VALUES_H

#include "agn_trace.h"

/* text.c */
void put(Text *text, Py_UCS4 character);
void cut_here(Text *text);
void put_ascii(Text *text, const char *ascii, size_t size);
void puts_ascii(Text *text, const char *ascii);
void put_string(Text *text, PyObject *string);
int enter(Text *text, PyObject *value, const char *cycle);

/* scalars.c */
void put_repr(Text *text, PyObject *value);
void put_int(Text *text, PyObject *value);
void put_str(Text *text, PyObject *value);
void put_bytes(Text *text, const char *type, const char *data, Py_ssize_t size);

/* types.c */
int is_heap(PyTypeObject *type);
int is_type_in_c(PyTypeObject *type, const char *name);
PyObject *type_dict(PyTypeObject *type);
PyObject *defined(PyTypeObject *type, const char *name);
PyObject *attribute(PyObject *value, const char *name);
void put_type_name(Text *text, PyTypeObject *type);
void put_module(Text *text, PyTypeObject *type, const char *unnamed);
void put_class(Text *text, PyTypeObject *type);

/* containers.c */
void put_element(Text *text, PyObject *value, int is_first);
void put_list(Text *text, PyObject *value);
void put_tuple(Text *text, PyObject *value);
void put_between(Text *text, PyObject *value, const char *start, const char *end, const char *cycle);
void put_set(Text *text, PyObject *value, const char *name);
void put_dict(Text *text, PyObject *value);
void put_ordered(Text *text, PyObject *value);
void put_deque(Text *text, PyObject *value);
void put_defaultdict(Text *text, PyObject *value);
void put_range(Text *text, PyObject *value);
void put_slice(Text *text, PyObject *value);
void put_counter(Text *text, PyObject *value);

/* objects.c */
void put_object(Text *text, PyObject *value);

/* library.c */
int put_callable(Text *text, PyObject *value);
int put_of_library(Text *text, PyObject *value);

/* exceptions.c */
void put_exception(Text *text, PyObject *value);

#endif
