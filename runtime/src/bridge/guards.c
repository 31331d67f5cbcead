/* guards.c - the checks of what a variant depends on outside of its arguments.
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
        double x = float_value(a), y = float_value(b);
        return (x != x && y != y) || memcmp(&x, &y, sizeof x) == 0;
    }
    if (PyLong_CheckExact(a) || PyUnicode_CheckExact(a))
        return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
    if (!PyTuple_CheckExact(a) || tuple_length(a) != tuple_length(b))
        return false;
    for (Py_ssize_t i = 0; i < tuple_length(a); i++)
        if (!same_value(tuple_item(a, i), tuple_item(b, i)))
            return false;
    return true;
}

static bool same_items(PyObject *have, PyObject *expected)
{
    Py_ssize_t n = tuple_length(expected);
    bool list = PyList_Check(have);
    if (!list && !PyTuple_Check(have))
        return false;
    if ((list ? list_length(have) : tuple_length(have)) != n)
        return false;
    for (Py_ssize_t i = 0; i < n; i++)
        if ((list ? list_item(have, i) : tuple_item(have, i)) != tuple_item(expected, i))
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

/* Return whether iterating over `o` gives exactly these items, in this order. */
static bool gives(PyObject *o, PyObject *expected)
{
    PyObject *iterator = PyObject_GetIter(o), *item;
    Py_ssize_t n = 0;
    bool same = true;
    while (same && iterator && (item = PyIter_Next(iterator))) {
        same = n < tuple_length(expected) && same_value(item, tuple_item(expected, n));
        n++;
        Py_DECREF(item);
    }
    Py_XDECREF(iterator);
    return same && iterator && !PyErr_Occurred() && n == tuple_length(expected);
}

/* Return whether the dict has exactly these keys, in this order. */
static bool same_keys(PyObject *dict, PyObject *expected)
{
    if (is_ordered_dict(dict)) /* an OrderedDict keeps its order apart from the dict's */
        return PyDict_Size(dict) == tuple_length(expected) && gives(dict, expected);
    Py_ssize_t at = 0, i = 0;
    PyObject *key;
    if (PyDict_Size(dict) != tuple_length(expected)) return false;
    while (PyDict_Next(dict, &at, &key, NULL)) {
        PyObject *wanted = tuple_item(expected, i++);
        if (key != wanted && !same_value(key, wanted)) return false;
    }
    return true;
}

static bool requires_grad(PyObject *tensor, PyObject *expected)
{
    PyObject *have = tensor ? PyObject_GetAttrString(tensor, "requires_grad") : NULL;
    Py_XDECREF(have); /* True and False are immortal, so the comparison below is safe */
    return have == expected;
}

static bool same_attribute(PyObject *o, PyObject *name, PyObject *expected)
{
    PyObject *have = PyObject_GetAttr(o, name);
    bool same = have && same_value(have, expected);
    Py_XDECREF(have);
    return same;
}

/* Return whether an object has the class and the __dict__ in `expected`; None in place of a __dict__ accepts any. */
static bool is_object_of(PyObject *o, PyObject *expected)
{
    PyObject *attributes = tuple_item(expected, 1);
    if ((PyObject *)Py_TYPE(o) != tuple_item(expected, 0))
        return false;
    if (attributes == Py_None)
        return true;
    PyObject *have = PyObject_GenericGetDict(o, NULL);
    Py_XDECREF(have); /* the object keeps its __dict__ alive */
    return have == attributes;
}

/* Return whether a function has the code, the defaults and the keyword defaults in `expected`. */
static bool is_function_of(PyObject *o, PyObject *expected)
{
    return function_field_is(o, CODE, tuple_item(expected, 0)) && function_field_is(o, DEFAULTS, tuple_item(expected, 1)) &&
           function_field_is(o, KEYWORD_DEFAULTS, tuple_item(expected, 2));
}

/* Return whether an object is the expected one, and release the object. */
static bool is_new(PyObject *have, PyObject *expected)
{
    Py_XDECREF(have);
    return have == expected;
}

/* Return whether the buffer of `o` has the format, the shape and the bytes of `expected`. */
static bool same_bytes(PyObject *o, PyObject *expected)
{
    return buffer_is(o, tuple_item(expected, 0), tuple_item(expected, 1), tuple_item(expected, 2));
}

static bool guard_holds(const host *h, const guard *g)
{
    switch ((enum guard_kind)g->kind) {
    case G_DICT_IS: return PyDict_GetItemWithError(g->container, g->key) == g->expected;
    case G_DICT_EQ: return same_value(PyDict_GetItemWithError(g->container, g->key), g->expected);
    case G_DICT_MISSING: return !PyDict_GetItemWithError(g->container, g->key);
    case G_CELL_IS: return cell_content(g->container) == g->expected;
    case G_CELL_EQ: return same_value(cell_content(g->container), g->expected);
    case G_TYPE_ATTR_IS: return is_new(type_lookup(g->container, g->key), g->expected);
    case G_DICT_EMPTY: return PyDict_Size(g->container) == 0;
    case G_LIST_ITEMS_ARE: return same_items(g->container, g->expected);
    case G_DEFAULT_DTYPE_IS: return answers(h->default_dtype, g->expected);
    case G_GRAD_MODE_IS: return answers(h->grad_enabled, g->expected);
    case G_DICT_KEYS_ARE: return same_keys(g->container, g->expected);
    case G_LIST_LENGTH_IS: return list_length(g->container) == PyLong_AsSsize_t(g->expected);
    case G_REQUIRES_GRAD_IS: return requires_grad(PyDict_GetItemWithError(g->container, g->key), g->expected);
    case G_OBJECT_IS: return is_object_of(g->container, g->expected);
    case G_FUNCTION_IS: return is_function_of(g->container, g->expected);
    case G_MRO_IS: return is_new(type_mro(g->container), g->expected);
    case G_BYTES_ARE: return same_bytes(g->container, g->expected);
    case G_ITERATION_GIVES: return gives(g->container, g->expected);
    case G_TYPE_MISSING: return is_new(type_lookup(g->container, g->key), NULL);
    case G_DICT_HAS: return PyDict_GetItemWithError(g->container, g->key) != NULL;
    case G_REFERENT_LIVES: return has_referent(g->container) == (g->expected == Py_True);
    case G_CALL_GIVES: return answers(g->container, g->expected);
    case G_ATTRIBUTE_IS: return same_attribute(g->container, g->key, g->expected);
    }
    return false;
}

/* ---- versions ---- */

/* Return a number that differs after each change of the container; 0: unknown. */
static uint64_t version_of(const guard *g)
{
    return g->of_type ? type_version(g->container) : dict_version(g->container);
}

/* Return whether a guard holds as long as its container has the version at which the guard held.
 *
 * Reordering an OrderedDict does not change its version. */
static bool follows_version(const guard *g)
{
    if (!g->container || g->of_type)
        return g->container != NULL;
    return PyDict_Check(g->container) && g->kind != G_REQUIRES_GRAD_IS &&
           !(g->kind == G_DICT_KEYS_ARE && is_ordered_dict(g->container));
}

void guards_watch(guard *guards, int n)
{
    guard *first = NULL; /* of the current run */
    for (guard *g = guards; g < guards + n; g++) {
        g->of_type = g->container && PyType_Check(g->container);
        if (!follows_version(g)) {
            first = NULL;
        } else if (first && first->container == g->container) {
            first->run++;
        } else if (g->of_type || dict_watch(g->container, g->seldom)) {
            first = g;
            first->run = 1;
        } else {
            first = NULL;
        }
    }
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
        uint64_t now = version_of(g);
        if (!now || now != g->version) {
            if (!now && g->of_type)
                now = type_version_renew(g->container);
            if (!all_hold(h, g, g->run))
                return false;
            g->version = now;
        }
        i += g->run;
    }
    return true;
}

