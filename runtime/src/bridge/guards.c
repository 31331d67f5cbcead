/* guards.c - is the world outside the arguments as a variant expects it?
 *
 * Guards over one class or dict come in runs. A run is checked when the version of its container has changed, and costs one
 * comparison otherwise. */
#include "bridge.h"

bool same_value(PyObject *a, PyObject *b)
{
    if (a == b)
        return true;
    if (!a || !b || Py_TYPE(a) != Py_TYPE(b))
        return false;
    if (PyFloat_CheckExact(a)) {
        double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
        return (x != x && y != y) || memcmp(&x, &y, sizeof x) == 0;
    }
    if (PyLong_CheckExact(a) || PyUnicode_CheckExact(a))
        return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
    if (!PyTuple_CheckExact(a) || PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b))
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); i++)
        if (!same_value(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i)))
            return false;
    return true;
}

static bool same_items(PyObject *have, PyObject *expected)
{
    Py_ssize_t n = PyTuple_GET_SIZE(expected);
    if (!PyList_Check(have) && !PyTuple_Check(have))
        return false;
    if (PySequence_Fast_GET_SIZE(have) != n)
        return false;
    PyObject **items = PySequence_Fast_ITEMS(have);
    for (Py_ssize_t i = 0; i < n; i++)
        if (items[i] != PyTuple_GET_ITEM(expected, i))
            return false;
    return true;
}

static bool answers(PyObject *f, PyObject *expected)
{
    PyObject *have = PyObject_CallNoArgs(f);
    bool same = have && same_value(have, expected);
    Py_XDECREF(have);
    return same;
}

/* Does iterating `o` give just these items, in this order? */
static bool gives(PyObject *o, PyObject *expected)
{
    PyObject *iterator = PyObject_GetIter(o), *item;
    Py_ssize_t n = 0;
    bool same = true;
    while (same && iterator && (item = PyIter_Next(iterator))) {
        same = n < PyTuple_GET_SIZE(expected) && same_value(item, PyTuple_GET_ITEM(expected, n));
        n++;
        Py_DECREF(item);
    }
    Py_XDECREF(iterator);
    return same && iterator && !PyErr_Occurred() && n == PyTuple_GET_SIZE(expected);
}

/* The dict has just these keys, in this order. */
static bool same_keys(PyObject *dict, PyObject *expected)
{
    if (PyODict_Check(dict)) /* has an order of its own */
        return PyDict_GET_SIZE(dict) == PyTuple_GET_SIZE(expected) && gives(dict, expected);
    Py_ssize_t at = 0, i = 0;
    PyObject *key;
    if (PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(expected)) return false;
    while (PyDict_Next(dict, &at, &key, NULL)) {
        PyObject *wanted = PyTuple_GET_ITEM(expected, i++);
        if (key != wanted && !same_value(key, wanted)) return false;
    }
    return true;
}

static bool referent_lives(PyObject *reference)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *referent = NULL;
    int lives = PyWeakref_GetRef(reference, &referent);
    Py_XDECREF(referent);
    return lives == 1;
#else
    return PyWeakref_GetObject(reference) != Py_None;
#endif
}

static bool requires_grad(PyObject *tensor, PyObject *expected)
{
    PyObject *have = tensor ? PyObject_GetAttrString(tensor, "requires_grad") : NULL;
    Py_XDECREF(have); /* bools outlive this */
    return have == expected;
}

/* expected: the format, the shape and the bytes of what `o` lets others read. */
static bool same_bytes(PyObject *o, PyObject *expected)
{
    Py_buffer b;
    if (PyObject_GetBuffer(o, &b, PyBUF_FULL_RO) < 0)
        return false;
    PyObject *shape = PyTuple_GET_ITEM(expected, 1), *bytes = PyTuple_GET_ITEM(expected, 2);
    bool same = b.ndim == PyTuple_GET_SIZE(shape) && b.len == PyBytes_GET_SIZE(bytes) &&
                PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(expected, 0), b.format ? b.format : "B") == 0;
    for (int i = 0; same && i < b.ndim; i++)
        same = b.shape[i] == PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
    if (same && PyBuffer_IsContiguous(&b, 'C')) {
        same = memcmp(b.buf, PyBytes_AS_STRING(bytes), (size_t)b.len) == 0;
    } else if (same) {
        char *copy = PyMem_Malloc((size_t)b.len + 1);
        same = copy && PyBuffer_ToContiguous(copy, &b, b.len, 'C') == 0 &&
               memcmp(copy, PyBytes_AS_STRING(bytes), (size_t)b.len) == 0;
        PyMem_Free(copy);
    }
    PyBuffer_Release(&b);
    return same;
}

static bool same_attribute(PyObject *o, PyObject *name, PyObject *expected)
{
    PyObject *have = PyObject_GetAttr(o, name);
    bool same = have && same_value(have, expected);
    Py_XDECREF(have);
    return same;
}

/* expected: a class, and the dict in which the attributes live, or None. */
static bool is_object_of(PyObject *o, PyObject *expected)
{
    PyObject *attributes = PyTuple_GET_ITEM(expected, 1);
    if ((PyObject *)Py_TYPE(o) != PyTuple_GET_ITEM(expected, 0))
        return false;
    PyObject **dict = attributes == Py_None ? NULL : _PyObject_GetDictPtr(o);
    return attributes == Py_None || (dict && *dict == attributes);
}

static bool same_or_none(PyObject *have, PyObject *expected) { return have ? have == expected : expected == Py_None; }

/* expected: code, defaults, defaults by name. */
static bool is_function_of(PyObject *o, PyObject *expected)
{
    const PyFunctionObject *f = (const PyFunctionObject *)o;
    return f->func_code == PyTuple_GET_ITEM(expected, 0) && same_or_none(f->func_defaults, PyTuple_GET_ITEM(expected, 1)) &&
           same_or_none(f->func_kwdefaults, PyTuple_GET_ITEM(expected, 2));
}

static bool guard_holds(const host *h, const guard *g)
{
    switch ((enum guard_kind)g->kind) {
    case G_DICT_IS: return PyDict_GetItemWithError(g->container, g->key) == g->expected;
    case G_DICT_EQ: return same_value(PyDict_GetItemWithError(g->container, g->key), g->expected);
    case G_DICT_MISSING: return !PyDict_GetItemWithError(g->container, g->key);
    case G_CELL_IS: return PyCell_GET(g->container) == g->expected;
    case G_CELL_EQ: return same_value(PyCell_GET(g->container), g->expected);
    case G_TYPE_ATTR_IS: return _PyType_Lookup((PyTypeObject *)g->container, g->key) == g->expected;
    case G_DICT_EMPTY: return PyDict_GET_SIZE(g->container) == 0;
    case G_LIST_ITEMS_ARE: return same_items(g->container, g->expected);
    case G_DEFAULT_DTYPE_IS: return answers(h->default_dtype, g->expected);
    case G_GRAD_MODE_IS: return answers(h->grad_enabled, g->expected);
    case G_DICT_KEYS_ARE: return same_keys(g->container, g->expected);
    case G_LIST_LENGTH_IS: return PyList_GET_SIZE(g->container) == PyLong_AsSsize_t(g->expected);
    case G_REQUIRES_GRAD_IS: return requires_grad(PyDict_GetItemWithError(g->container, g->key), g->expected);
    case G_OBJECT_IS: return is_object_of(g->container, g->expected);
    case G_FUNCTION_IS: return is_function_of(g->container, g->expected);
    case G_MRO_IS: return ((PyTypeObject *)g->container)->tp_mro == g->expected;
    case G_BYTES_ARE: return same_bytes(g->container, g->expected);
    case G_ITERATION_GIVES: return gives(g->container, g->expected);
    case G_TYPE_MISSING: return !_PyType_Lookup((PyTypeObject *)g->container, g->key);
    case G_DICT_HAS: return PyDict_GetItemWithError(g->container, g->key) != NULL;
    case G_REFERENT_LIVES: return referent_lives(g->container) == (g->expected == Py_True);
    case G_CALL_GIVES: return answers(g->container, g->expected);
    case G_ATTRIBUTE_IS: return same_attribute(g->container, g->key, g->expected);
    }
    return false;
}

/* ---- versions ---- */

#if PY_VERSION_HEX >= 0x030C0000
static uint64_t changes = 1; /* of all watched dicts */
static int watcher = -1;

static int note_change(PyDict_WatchEvent event, PyObject *dict, PyObject *key, PyObject *value)
{
    (void)event, (void)dict, (void)key, (void)value;
    changes++;
    return 0;
}

static int watch_dict(PyObject *dict)
{
    if (watcher < 0 && (watcher = PyDict_AddWatcher(note_change)) < 0)
        return -1;
    return PyDict_Watch(watcher, dict);
}

static bool has_version(const guard *g) { return g->seldom; } /* a dict that changes all the time would be noted all the time */
static uint64_t dict_version(PyObject *dict) { return (void)dict, changes; }
static uint64_t type_version(PyTypeObject *type) { return type->tp_version_tag; }
#else
static int watch_dict(PyObject *dict) { return (void)dict, 0; }
static bool has_version(const guard *g) { return (void)g, true; }
static uint64_t dict_version(PyObject *dict) { return ((PyDictObject *)dict)->ma_version_tag; }

static uint64_t type_version(PyTypeObject *type)
{
    return PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG) ? type->tp_version_tag : 0;
}
#endif

/* Another number after each change; 0: not known. */
static uint64_t version_of(PyObject *container)
{
    return PyType_Check(container) ? type_version((PyTypeObject *)container) : dict_version(container);
}

/* Does it hold as long as its container has the version at which it held? */
static bool follows_version(const guard *g)
{
    if (!g->container || PyType_Check(g->container))
        return g->container != NULL;
    if (!PyDict_Check(g->container) || PyODict_Check(g->container) || g->kind == G_REQUIRES_GRAD_IS)
        return false;
    return has_version(g);
}

int guards_watch(guard *guards, int n)
{
    for (int i = 0, first = 0; i < n; i++) {
        if (i == 0 || !guards[first].run || guards[i].container != guards[first].container)
            first = i;
        if (!follows_version(&guards[i])) {
            first = i;
            continue;
        }
        guards[first].run = i + 1 - first;
        if (first == i && PyDict_Check(guards[i].container) && watch_dict(guards[i].container) < 0)
            return -1;
    }
    return 0;
}

static bool all_hold(const host *h, const guard *guards, int n)
{
    for (int i = 0; i < n; i++)
        if (!guard_holds(h, &guards[i])) {
            PyErr_Clear();
            return false;
        }
    return true;
}

bool guards_hold(const host *h, const variant *v)
{
    for (int i = 0; i < v->n_guards;) {
        guard *g = &v->guards[i];
        if (!g->run) {
            if (!all_hold(h, g, 1))
                return false;
            i++;
            continue;
        }
        uint64_t now = version_of(g->container);
        if (!now || now != g->version) {
            if (!all_hold(h, g, g->run))
                return false;
            g->version = version_of(g->container); /* looking an attribute up may give a class its version */
        }
        i += g->run;
    }
    return true;
}

