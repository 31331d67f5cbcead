/* stable_abi.h - reads of Python objects that CPython's stable ABI lacks, or has as slower calls.
 *
 * One binary of the bridge serves every CPython from 3.10 on: it is compiled against the limited API, and links no symbol
 * outside the stable ABI. `python_inspect` runs once, at import. It tests on objects of its own where the running Python
 * keeps the fields below, and looks up the public functions that newer limited APIs have. The helpers read a field where
 * the test found it. Where the test found nothing, they use the stable ABI. */
#ifndef SC_STABLE_ABI_H
#define SC_STABLE_ABI_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#if !defined(Py_LIMITED_API) || Py_LIMITED_API != 0x030A0000
#error "the bridge is compiled against the limited API of Python 3.10 (build_bridge.py)"
#endif

typedef struct float_fields { PyObject_HEAD double value; } float_fields;
typedef struct list_fields { PyObject_VAR_HEAD PyObject **items; } list_fields;
typedef struct cell_fields { PyObject_HEAD PyObject *content; } cell_fields;
typedef struct set_entry { PyObject *key; Py_hash_t hash; } set_entry; /* hash: -1 where the key was deleted */
typedef struct set_fields {
    PyObject_HEAD
    Py_ssize_t fill, used, mask;
    set_entry *table;
    Py_hash_t hash;
    Py_ssize_t finger;
} set_fields;
typedef struct string_fields { PyObject_HEAD Py_ssize_t length; Py_hash_t hash; uint32_t state; } string_fields;
typedef struct dict_fields { PyObject_HEAD Py_ssize_t used; uint64_t version; } dict_fields;

typedef struct buffer_fields { /* Py_buffer, which is in the stable ABI since 3.11 */
    void *data;
    PyObject *owner;
    Py_ssize_t nbytes, item;
    int readonly, rank;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets;
    void *internal;
} buffer_fields;

enum { CODE, DEFAULTS, KEYWORD_DEFAULTS, N_FUNCTION_FIELDS }; /* fields of a function */

typedef struct python_record {
    long version; /* as sys.hexversion */
    bool floats, lists, cells, sets, strings, dict_versions; /* the fields are where the structs above say */
    bool watching;                                /* dicts can be watched */
    size_t tuple_at;                              /* offset of the items; 0: not found */
    size_t function_at[N_FUNCTION_FIELDS];        /* 0: not found */
    size_t type_flags_at, type_version_at;        /* 0: not found */
    unsigned long valid_version;                  /* flag of types with a valid version; 0: no such flag */
    uint32_t ascii, compact;                      /* bits in the state of a string */
    unsigned kind_shift;                          /* of the number of bytes of a character */
    size_t ascii_at, wide_at;                     /* offsets of the characters, of ASCII and of other strings */
    uint64_t changes;                             /* number of changes of all watched dicts */
    PyObject *ordered_dict, *get_mro, *get_dict;  /* a class, and the descriptors of type.__mro__ and type.__dict__ */
    /* functions of newer limited APIs; NULL where Python has none */
    PyObject *(*vectorcall)(PyObject *, PyObject *const *, size_t, PyObject *);
    PyObject *(*string_of)(int, const void *, Py_ssize_t);
    int (*get_buffer)(PyObject *, buffer_fields *, int);
    void (*release_buffer)(buffer_fields *);
    int (*watch)(int, PyObject *);
    int watcher;
} python_record;
extern __attribute__((visibility("hidden"))) python_record python; /* hidden: read without the global offset table */

int python_inspect(void); /* -1: exception set */

/* Return whether a field was found. It nearly always was, so the fallback is compiled out of line. */
static inline bool was_found(size_t field) { return __builtin_expect(field != 0, 1); }

/* ---- numbers and sequences ---- */

static inline double float_value(PyObject *o)
{
    return was_found(python.floats) ? ((const float_fields *)o)->value : PyFloat_AsDouble(o);
}

static inline PyObject **tuple_items(PyObject *o) { return (PyObject **)((char *)o + python.tuple_at); }

static inline Py_ssize_t tuple_length(PyObject *o) { return was_found(python.tuple_at) ? Py_SIZE(o) : PyTuple_Size(o); }
static inline Py_ssize_t list_length(PyObject *o) { return was_found(python.lists) ? Py_SIZE(o) : PyList_Size(o); }

static inline PyObject *tuple_item(PyObject *o, Py_ssize_t i) /* borrowed */
{
    return was_found(python.tuple_at) ? tuple_items(o)[i] : PyTuple_GetItem(o, i);
}

static inline PyObject *list_item(PyObject *o, Py_ssize_t i) /* borrowed */
{
    return was_found(python.lists) ? ((const list_fields *)o)->items[i] : PyList_GetItem(o, i);
}

/* Return the items of an exact tuple or list, valid until its next change, or NULL if they cannot be read in place. */
static inline PyObject *const *items_in_place(PyObject *o)
{
    if (PyTuple_CheckExact(o))
        return was_found(python.tuple_at) ? tuple_items(o) : NULL;
    return was_found(python.lists) ? ((const list_fields *)o)->items : NULL;
}

/* Store an item at index `i` of a new tuple or list, where none is yet. Takes the reference. */
static inline void tuple_fill(PyObject *o, Py_ssize_t i, PyObject *item)
{
    if (was_found(python.tuple_at))
        tuple_items(o)[i] = item;
    else
        PyTuple_SetItem(o, i, item);
}

static inline void list_fill(PyObject *o, Py_ssize_t i, PyObject *item)
{
    if (was_found(python.lists))
        ((list_fields *)o)->items[i] = item;
    else
        PyList_SetItem(o, i, item);
}

/* ---- cells, functions, dicts, types ---- */

PyObject *cell_content_by_name(PyObject *cell);

static inline PyObject *cell_content(PyObject *cell) /* borrowed; NULL: empty */
{
    return was_found(python.cells) ? ((const cell_fields *)cell)->content : cell_content_by_name(cell);
}

PyObject *function_field_by_name(PyObject *function, int field);

/* Return whether a field of a function is this object. None stands for no defaults. */
static inline bool function_field_is(PyObject *function, int field, PyObject *expected)
{
    size_t at = python.function_at[field];
    PyObject *have = was_found(at) ? *(PyObject *const *)((const char *)function + at) : function_field_by_name(function, field);
    return have ? have == expected : expected == Py_None;
}

static inline bool is_ordered_dict(PyObject *o) { return PyObject_TypeCheck(o, (PyTypeObject *)python.ordered_dict); }

/* Prepare a dict for `dict_version`. Return false, without an exception, if its changes cannot be detected. seldom: the
 * dict is expected not to change. */
bool dict_watch(PyObject *dict, bool seldom);

/* Return a number that differs after each change of the dict. */
static inline uint64_t dict_version(PyObject *dict)
{
    return python.dict_versions ? ((const dict_fields *)dict)->version : python.changes;
}

/* Return a number that differs after each change of the type or of its bases; 0: unknown. */
static inline uint64_t type_version(PyObject *type)
{
    if (!was_found(python.type_version_at))
        return 0;
    const char *fields = (const char *)type;
    bool valid = !python.valid_version || (*(const unsigned long *)(fields + python.type_flags_at) & python.valid_version);
    return valid ? *(const uint32_t *)(fields + python.type_version_at) : 0;
}

uint64_t type_version_renew(PyObject *type); /* makes Python assign a version to a type without one */

PyObject *type_mro(PyObject *type);                     /* a new reference, or NULL with an exception */
PyObject *type_lookup(PyObject *type, PyObject *name); /* the raw attribute: a new reference, or NULL */

bool has_referent(PyObject *reference); /* whether the referent of a weak reference is alive */

/* ---- strings and buffers ---- */

/* Return the characters of a str, and in `width` the bytes of each; NULL if they cannot be read in place. */
static inline const void *string_data(PyObject *o, int *width)
{
    const string_fields *s = (const string_fields *)o;
    if (!was_found(python.strings && s->state & python.compact))
        return NULL;
    *width = (int)(s->state >> python.kind_shift & 7);
    return (const char *)o + (s->state & python.ascii ? python.ascii_at : python.wide_at);
}

PyObject *string_make(int width, const void *data, Py_ssize_t length);

/* Return whether `o` exports a buffer of this format, shape and bytes. Sets no exception. */
bool buffer_is(PyObject *o, PyObject *format, PyObject *shape, PyObject *bytes);

/* ---- calls and references ---- */

/* Call an object like PyObject_Vectorcall, which is in the stable ABI only since 3.12. */
PyObject *call_vector(PyObject *callable, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
/* Convert the arguments of a vector call to a tuple and a dict. On an error, return -1; the caller releases both
 * outputs. */
int call_objects(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject **tuple, PyObject **dict);

static inline PyObject *call_one(PyObject *callable, PyObject *arg)
{
    return PyObject_CallFunctionObjArgs(callable, arg, NULL);
}

static inline void replace_reference(PyObject **at, PyObject *o) /* takes the reference */
{
    PyObject *old = *at;
    *at = o;
    Py_XDECREF(old);
}

#endif
