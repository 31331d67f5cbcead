/* match.c - matches a call with a variant: binds arguments, and marshals them while it matches, since most calls fit the first
 * variant that is tried. */
#include "bridge.h"
#include "sc_ops.h"

/* ---- binding ---- */

static int param_named(const variant *v, PyObject *name)
{
    for (int i = 0; i < v->n_params; i++)
        if (v->params[i].name == name)
            return i;
    for (int i = 0; i < v->n_params; i++)
        if (v->params[i].name != Py_None && PyUnicode_Compare(v->params[i].name, name) == 0)
            return i;
    return -1;
}

static int bind_in_python(frame *f, const variant *v, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    f->flat = call_vector(v->bind, args, nargs, kwnames);
    if (!f->flat)
        return -1;
    if (!PyTuple_CheckExact(f->flat) || tuple_length(f->flat) != v->n_params)
        return 0;
    for (int i = 0; i < v->n_params; i++)
        f->slots[i] = tuple_item(f->flat, i);
    f->slot = f->slots;
    return 1;
}

static int bind(frame *f, const variant *v, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    Py_ssize_t keywords = kwnames ? tuple_length(kwnames) : 0;
    if (v->bind)
        return bind_in_python(f, v, args, nargs, kwnames);
    if (nargs > v->n_positional)
        return 0;
    if (!keywords && nargs == v->n_params) {
        f->slot = args;
        return 1;
    }
    for (int i = 0; i < v->n_params; i++)
        f->slots[i] = i < nargs ? args[i] : NULL;
    for (Py_ssize_t k = 0; k < keywords; k++) {
        int i = param_named(v, tuple_item(kwnames, k));
        if (i < 0 || f->slots[i])
            return 0;
        f->slots[i] = args[nargs + k];
    }
    for (int i = (int)nargs; i < v->n_params; i++)
        if (!f->slots[i] && !(f->slots[i] = v->params[i].fallback))
            return 0;
    f->slot = f->slots;
    return 1;
}

/* ---- marshalling ---- */

static int take_leaf(frame *f, const node *n, PyObject *o, sc_value *out);

static int take_int(PyObject *o, sc_value *out)
{
    int overflow;
    if (!PyLong_CheckExact(o))
        return 0;
    out->i = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (!overflow)
        return 1;
    PyErr_SetString(PyExc_OverflowError, "Python int too large to convert to C long");
    return -1;
}

/* Marshal a str whose characters cannot be read in place. */
__attribute__((noinline, cold)) static int take_copied_str(frame *f, PyObject *o, sc_value *out)
{
    Py_UCS4 *wide = PyUnicode_AsUCS4Copy(o), most = 0;
    Py_ssize_t length = PyUnicode_GetLength(o);
    for (Py_ssize_t i = 0; wide && i < length; i++)
        most |= wide[i];
    int width = most < 0x100 ? 1 : most < 0x10000 ? 2 : 4;
    sc_str *s = wide ? sc_str_new(f->cx, width, length) : NULL;
    for (Py_ssize_t i = 0; s && i < length; i++)
        if (width == 1)
            ((uint8_t *)s->data)[i] = (uint8_t)wide[i];
        else if (width == 2)
            ((uint16_t *)s->data)[i] = (uint16_t)wide[i];
        else
            ((uint32_t *)s->data)[i] = wide[i];
    PyMem_Free(wide);
    return (out->s = s) ? 1 : (PyErr_NoMemory(), -1);
}

/* Marshal a str. Out of line, so that matching a number saves no registers. */
__attribute__((noinline)) static int take_str(frame *f, PyObject *o, sc_value *out)
{
    if (!PyUnicode_CheckExact(o))
        return 0;
    int width;
    const void *data = string_data(o, &width);
    if (!data)
        return take_copied_str(f, o, out);
    if (!(out->s = sc_str_new(f->cx, width, ((string_fields *)o)->length)))
        return PyErr_NoMemory(), -1;
    memcpy(out->s->data, data, (size_t)out->s->len * out->s->width);
    return 1;
}

static size_t hash_of(const void *p) { return (size_t)((uintptr_t)p >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20; }

static int *bucket_of(frame *f, PyObject *o)
{
    size_t mask = (size_t)f->cap_buckets - 1, i = hash_of(o) & mask;
    while (f->buckets[i] && f->lists[f->buckets[i] - 1].object != o)
        i = (i + 1) & mask;
    return &f->buckets[i];
}

/* Make room for one more list. The hash table stays at most half full. */
static int lists_fit(frame *f)
{
    if (grow(&f->lists, &f->cap_lists, f->n_lists + 1, sizeof *f->lists) < 0)
        return -1;
    if (f->cap_buckets >= 2 * (f->n_lists + 1))
        return 0;
    if (grow(&f->buckets, &f->cap_buckets, f->cap_buckets ? 2 * f->cap_buckets : 16, sizeof *f->buckets) < 0)
        return -1;
    memset(f->buckets, 0, sizeof *f->buckets * (size_t)f->cap_buckets);
    for (int i = 0; i < f->n_lists; i++)
        *bucket_of(f, f->lists[i].object) = i + 1;
    return 0;
}

/* Return whether two specs accept the same values. */
static bool same_node(const node *a, const node *b)
{
    if (a == b || a->kind != b->kind || a->n != b->n)
        return a == b;
    for (int i = 0; i < a->n; i++)
        if (!same_node(&a->child[i], &b->child[i]))
            return false;
    if (a->kind == N_LIST && is_tuple(a) != is_tuple(b))
        return false;
    return a->kind != N_TENSOR || (a->dtype == b->dtype && a->rank == b->rank && a->contiguous == b->contiguous &&
                                   memcmp(a->size, b->size, sizeof a->size) == 0);
}

/* Look up a list, dict or set among those marshalled before. Return 1 and its value; 0 and a new row if it is new; -1
 * if there is no memory. */
static int taken_before(frame *f, const node *n, PyObject *o, sc_value *out, seen **row)
{
    if (lists_fit(f) < 0)
        return -1;
    int *bucket = bucket_of(f, o);
    if (!*bucket) {
        *row = &f->lists[f->n_lists];
        **row = (seen){Py_NewRef(o), {0}, n};
        *bucket = ++f->n_lists;
        return 0;
    }
    const seen *s = &f->lists[*bucket - 1];
    *out = s->made;
    f->has_aliases = true;
    return 1;
}

/* Marshal an item of a list. `out` is borrowed from the context, but the caller owns a tuple object. */
static int take_item(frame *f, const node *n, PyObject *o, sc_value *out);

static Py_ssize_t length_of(PyObject *items) { return PyTuple_CheckExact(items) ? tuple_length(items) : list_length(items); }

static PyObject *item_of(PyObject *items, Py_ssize_t i)
{
    return PyTuple_CheckExact(items) ? tuple_item(items, i) : list_item(items, i);
}

/* Fill a new list of sufficient capacity with numbers. No Python code runs here, so the items do not move. */
static int take_numbers(const node *n, PyObject *o, sc_list *l)
{
    PyObject *const *items = items_in_place(o);
    Py_ssize_t length = length_of(o);
    for (int r; l->len < length; l->len++) {
        PyObject *item = items ? items[l->len] : item_of(o, l->len);
        sc_value *to = &l->items[l->len];
        if (n->kind == N_INT) {
            if ((r = take_int(item, to)) <= 0)
                return r;
        } else if (n->kind == N_FLOAT) {
            if (!PyFloat_CheckExact(item))
                return 0;
            to->f = float_value(item);
        } else {
            if (!PyBool_Check(item))
                return 0;
            l->bools[l->len] = item == Py_True;
        }
    }
    return 1;
}

/* Marshal the list or tuple `items` as the list that represents `o`. */
static int take_sequence(frame *f, const node *n, PyObject *o, PyObject *items, sc_value *out)
{
    seen *row;
    int before = taken_before(f, n, o, out, &row);
    if (before > 0) { /* the list was passed twice */
        const node *spec = f->lists[*bucket_of(f, o) - 1].spec;
        return same_node(spec, n) || (out->l->len == 0 && spec->kind == n->kind && spec->child->kind == n->child->kind);
    }
    sc_list *l = before < 0 ? NULL : sc_list_new(f->cx, items_of(n), length_of(items));
    if (!l)
        return PyErr_NoMemory(), -1;
    l->owner = o;
    row->made.l = l;
    if (n->child->kind == N_INT || n->child->kind == N_FLOAT || n->child->kind == N_BOOL)
        return out->l = l, take_numbers(n->child, items, l);
    for (Py_ssize_t i = 0; i < length_of(items); i++) {
        sc_value item = {0};
        int r = take_item(f, n->child, item_of(items, i), &item);
        if (r <= 0)
            return r;
        if (sc_list_append(f->cx, l, l->holds, item) < 0)
            return PyErr_NoMemory(), -1;
        if (is_boxed(n->child))
            sc_release(f->cx, item.o);
    }
    l->written = false;
    out->l = l;
    return 1;
}

static int take_list(frame *f, const node *n, PyObject *o, sc_value *out)
{
    return (is_tuple(n) ? PyTuple_CheckExact(o) : PyList_CheckExact(o)) ? take_sequence(f, n, o, o, out) : 0;
}

static int take_leaf(frame *f, const node *n, PyObject *o, sc_value *out);

/* Marshal the leaves of a key, a tuple, or a value that may be None. */
static int take_leaves(frame *f, const node *n, PyObject *o, sc_value *leaves, int *count, uint64_t *mask)
{
    if (n->kind == N_OPTIONAL && !is_object(n->child)) {
        leaves[(*count)++].b = o != Py_None;
        if (o != Py_None)
            return take_leaves(f, n->child, o, leaves, count, mask);
        *count += n->rank; /* skip the leaves below, which are not read */
        return 1;
    }
    if (n->kind == N_CONSTANT)
        return same_value(o, n->data);
    if (n->kind == N_TUPLE) {
        if (!PyTuple_CheckExact(o) || tuple_length(o) != n->n)
            return 0;
        for (int i = 0, r; i < n->n; i++)
            if ((r = take_leaves(f, &n->child[i], tuple_item(o, i), leaves, count, mask)) <= 0)
                return r;
        return 1;
    }
    const node *held = n->kind == N_OPTIONAL ? n->child : n;
    sc_value *leaf = &leaves[(*count)++];
    if (is_object(held))
        *mask |= UINT64_C(1) << (*count - 1);
    return n->kind == N_OPTIONAL && o == Py_None ? (leaf->o = NULL, 1) : take_leaf(f, held, o, leaf);
}

static int take_item(frame *f, const node *n, PyObject *o, sc_value *out)
{
    if (!is_boxed(n)) {
        const node *held = n->kind == N_OPTIONAL ? n->child : n;
        return held != n && o == Py_None ? (out->o = NULL, 1) : take_leaf(f, held, o, out);
    }
    sc_value leaves[MAX_LEAVES] = {{0}};
    uint64_t mask = 0;
    int count = 0, r = take_leaves(f, n, o, leaves, &count, &mask);
    if (r <= 0)
        return r;
    return (out->l = sc_list_tuple(f->cx, mask, count, leaves)) ? 1 : (PyErr_NoMemory(), -1);
}

/* Marshal a key and its value into a dict, or an item into a set. */
static int take_pair(frame *f, const node *n, sc_dict *d, PyObject *key, PyObject *item)
{
    sc_value leaves[MAX_LEAVES] = {{0}}, value[MAX_LEAVES] = {{0}};
    uint64_t mask = 0;
    int count = 0, width = 0, r = take_leaves(f, &n->child[0], key, leaves, &count, &mask);
    if (r > 0 && item)
        r = n->in_line ? take_leaves(f, &n->child[1], item, value, &width, &mask) : take_item(f, &n->child[1], item, value);
    if (r <= 0)
        return r;
    if ((item ? sc_dict_set(f->cx, d, leaves, value) : sc_set_add(f->cx, d, leaves)) < 0)
        return PyErr_NoMemory(), -1;
    if (item && !n->in_line && is_boxed(&n->child[1]))
        sc_release(f->cx, value->o);
    return 1;
}

/* Marshal a set slot by slot, since its layout decides the order in which programs see the items. */
static int take_slots(frame *f, const node *n, sc_dict *s, const set_fields *o)
{
    if (!python.sets) {
        PyErr_SetString(PyExc_RuntimeError, "scriptc does not know how this version of Python lays sets out");
        return -1;
    }
    if (sc_set_layout(f->cx, s, (uint64_t)o->mask, o->fill, (uint64_t)o->finger) < 0)
        return PyErr_NoMemory(), -1;
    for (Py_ssize_t i = 0; i <= o->mask; i++) {
        sc_value leaves[MAX_LEAVES] = {{0}};
        uint64_t mask = 0;
        int count = 0;
        PyObject *key = o->table[i].key;
        if (!key)
            continue;
        bool gone = o->table[i].hash == -1;
        int r = gone ? 1 : take_leaves(f, &n->child[0], key, leaves, &count, &mask);
        if (r <= 0)
            return r;
        if (sc_set_lay(f->cx, s, (uint64_t)i, gone ? NULL : leaves) < 0)
            return PyErr_NoMemory(), -1;
    }
    return 1;
}

/* Marshal a set of texts, whose hashes differ from Python's, item by item: no program sees their order. */
static int take_texts(frame *f, const node *n, sc_dict *s, PyObject *o)
{
    PyObject *items = PyObject_GetIter(o), *key;
    int r = items ? 1 : -1;
    while (r > 0 && (key = PyIter_Next(items))) {
        r = take_pair(f, n, s, key, NULL);
        Py_DECREF(key);
    }
    Py_XDECREF(items);
    return PyErr_Occurred() ? -1 : r;
}

static int take_table(frame *f, const node *n, PyObject *o, sc_value *out)
{
    seen *row;
    PyObject *key, *item;
    Py_ssize_t at = 0;
    if (n->kind == N_MAP ? !PyDict_CheckExact(o) : (PyObject *)Py_TYPE(o) != n->data)
        return 0;
    int before = taken_before(f, n, o, out, &row);
    if (before > 0)
        return same_node(f->lists[*bucket_of(f, o) - 1].spec, n);
    const char *kind = PyBytes_AsString(n->key_kind);
    bool counted = n->n > 1 && !n->in_line &&
                   (is_object(&n->child[1]) || is_boxed(&n->child[1]) || n->child[1].kind == N_OPTIONAL);
    int width = n->in_line ? n->in_line : 1;
    sc_dict *d = before < 0 ? NULL : n->kind == N_MAP ? sc_dict_new(f->cx, kind, width, counted) : sc_set_new(f->cx, kind);
    if (!d)
        return PyErr_NoMemory(), -1;
    row->made.d = d;
    d->owner = o;
    int r = 1;
    if (n->kind == N_MAP) {
        while (r > 0 && PyDict_Next(o, &at, &key, &item))
            r = take_pair(f, n, d, key, item);
    } else {
        r = strchr(kind, 's') ? take_texts(f, n, d, o) : take_slots(f, n, d, (const set_fields *)o);
    }
    d->written = false;
    out->d = d;
    return r;
}

static int take_leaf(frame *f, const node *n, PyObject *o, sc_value *out)
{
    switch ((enum node_kind)n->kind) {
    case N_TENSOR: return tensor_take(f, o, n, out);
    case N_INT: return take_int(o, out);
    case N_FLOAT: return PyFloat_CheckExact(o) ? (out->f = float_value(o), 1) : 0;
    case N_BOOL: return PyBool_Check(o) ? (out->b = o == Py_True, 1) : 0;
    case N_STR: return take_str(f, o, out);
    case N_LIST: return take_list(f, n, o, out);
    case N_MAP:
    case N_SET: return take_table(f, n, o, out);
    default: return 0;
    }
}

static int take(frame *f, const node *n, PyObject *o);

/* Give a place to an object that the program may change. An object with a place already needs another variant. */
static int place_add(frame *f, PyObject *o)
{
    for (int i = 0; i < f->n_places; i++)
        if (f->places[i] == o)
            return 0;
    if (grow(&f->places, &f->cap_places, f->n_places + 1, sizeof *f->places) < 0)
        return -1;
    f->places[f->n_places++] = o;
    return 1;
}

/* Match a dict with known keys. The order of keys counts: compiled code iterates in the order of the spec. */
static int take_keys(frame *f, const node *n, PyObject *dict)
{
    PyObject *key, *item;
    Py_ssize_t at = 0;
    if (PyDict_Size(dict) != n->n)
        return 0;
    for (int i = 0; i < n->n && PyDict_Next(dict, &at, &key, &item); i++) {
        PyObject *wanted = tuple_item(n->data, i);
        int r = key == wanted || same_value(key, wanted) ? take(f, &n->child[i], item) : 0;
        if (r <= 0)
            return r;
    }
    return 1;
}

static int take_dict(frame *f, const node *n, PyObject *o)
{
    int r = PyDict_CheckExact(o) ? place_add(f, o) : 0;
    return r <= 0 ? r : take_keys(f, n, o);
}

/* Match an object by its class and its attribute names. */
static int take_object(frame *f, const node *n, PyObject *o)
{
    if ((PyObject *)Py_TYPE(o) != tuple_item(n->data, 0))
        return 0;
    int r = place_add(f, o);
    PyObject *attributes = r > 0 ? PyObject_GenericGetDict(o, NULL) : NULL;
    if (!attributes)
        return PyErr_Occurred() ? -1 : r;
    node named = *n;
    named.data = tuple_item(n->data, 1);
    r = take_keys(f, &named, attributes);
    Py_DECREF(attributes);
    return r;
}

static int take_items(frame *f, const node *n, PyObject *o)
{
    int r = PyList_CheckExact(o) && list_length(o) == n->n ? place_add(f, o) : 0;
    for (int i = 0; r > 0 && i < n->n; i++)
        r = list_length(o) == n->n ? take(f, &n->child[i], list_item(o, i)) : 0;
    return r;
}

/* Match a deque by its maxlen. Its items are marshalled as a list, which changes_write_back writes back. */
static int take_queue(frame *f, const node *n, PyObject *o)
{
    if ((PyObject *)Py_TYPE(o) != tuple_item(n->data, 0))
        return 0;
    PyObject *maxlen = PyObject_GetAttrString(o, "maxlen"), *items = maxlen ? PySequence_List(o) : NULL;
    int r = !items || frame_keep(f, Py_XNewRef(items)) < 0 ? -1 : same_value(maxlen, tuple_item(n->data, 1));
    if (r > 0)
        r = place_add(f, o);
    if (r > 0) {
        sc_value v = {0};
        r = take_sequence(f, n->child, o, items, &v);
        f->args[f->n_args++] = v;
    }
    Py_XDECREF(items);
    Py_XDECREF(maxlen);
    return r;
}

static int take_complex(frame *f, PyObject *o)
{
    if (!PyComplex_CheckExact(o))
        return 0;
    f->args[f->n_args++].f = PyComplex_RealAsDouble(o);
    f->args[f->n_args++].f = PyComplex_ImagAsDouble(o);
    return 1;
}

static int take(frame *f, const node *n, PyObject *o)
{
    int r;
    switch ((enum node_kind)n->kind) {
    case N_IGNORED: return 1;
    case N_CONSTANT: return same_value(o, n->data);
    case N_NAMED_TUPLE:
    case N_TUPLE:
        if (n->data == (PyObject *)&PyComplex_Type)
            return take_complex(f, o);
        if ((n->kind == N_TUPLE ? !PyTuple_CheckExact(o) : (PyObject *)Py_TYPE(o) != n->data) ||
            tuple_length(o) != n->n)
            return 0;
        for (int i = 0; i < n->n; i++)
            if ((r = take(f, &n->child[i], tuple_item(o, i))) <= 0)
                return r;
        return 1;
    case N_DICT: return take_dict(f, n, o);
    case N_OBJECT: return take_object(f, n, o);
    case N_ITEMS: return take_items(f, n, o);
    case N_QUEUE: return take_queue(f, n, o);
    case N_PLACE: return n->place < f->n_places && f->places[n->place] == o;
    default: {
        sc_value v = {0};
        r = take_leaf(f, n, o, &v);
        f->args[f->n_args++] = v;
        return r;
    }
    }
}

/* Return the current object of a late-bound value, borrowed, or NULL if there is none. */
static PyObject *found_at(frame *f, const live *l)
{
    if (l->kind == IN_ATTRIBUTES) {
        PyObject *o = PyObject_GetAttr(l->container, l->key);
        return frame_keep(f, o) < 0 ? NULL : o;
    }
    if (l->kind == IN_DICT)
        return PyDict_GetItemWithError(l->container, l->key);
    if (l->kind == IN_CELL)
        return cell_content(l->container);
    Py_ssize_t i = PyLong_AsSsize_t(l->key);
    return i < list_length(l->container) ? list_item(l->container, i) : NULL;
}

int match_call(frame *f, const variant *v, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    f->n_slots = v->n_params;
    int r = frame_fit(f, v) < 0 ? -1 : bind(f, v, args, nargs, kwnames);
    for (int i = 0; r > 0 && i < v->n_params; i++) {
        f->naming = v->params[i].name;
        r = take(f, &v->params[i].spec, f->slot[i]);
    }
    for (int i = 0; r > 0 && i < v->n_live; i++) {
        const live *l = &v->lives[i];
        PyObject *o = found_at(f, l);
        if (!o)
            return PyErr_Occurred() ? -1 : 0;
        f->naming = l->key;
        r = take(f, &l->spec, o);
    }
    return r;
}
