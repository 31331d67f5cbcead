/* result.c - makes Python objects of results, and writes changed containers back. */
#include "bridge.h"
#include "sc_ops.h"

/* ---- first walk: note the storages that results share ---- */

/* Return the longest chain of references between instances that fits the rest of this thread's stack. Both walks use
 * the same limit, so that the second walk reaches no object that the first has not noted. */
static int deepest(frame *f)
{
    if (!f->deepest) {
        uintptr_t here = (uintptr_t)__builtin_frame_address(0), end = sc_stack_end(here, 0);
        size_t levels = here > end ? (here - end) / BYTES_A_LEVEL : 0;
        f->deepest = levels < 1 ? 1 : levels < DEEPEST ? (int)levels : DEEPEST;
    }
    return f->deepest;
}

static void note(frame *f, const node *n, sc_value v, int depth);

/* Note the leaves of a tuple in a container, including those of nested tuples. */
static void note_leaves(frame *f, const node *n, const sc_value **next, int depth)
{
    if (n->kind == N_OPTIONAL && !is_object(n->child)) {
        bool present = (*next)++->b;
        if (present)
            note_leaves(f, n->child, next, depth);
        else
            *next += n->rank;
    } else if (n->kind == N_TUPLE || n->kind == N_NAMED_TUPLE) {
        for (int i = 0; i < n->n; i++)
            note_leaves(f, &n->child[i], next, depth);
    } else if (n->kind != N_CONSTANT) {
        note(f, n, *(*next)++, depth);
    }
}

static void note_item(frame *f, const node *n, sc_value v, int depth)
{
    const sc_value *next = is_boxed(n) ? v.l->items : &v;
    note_leaves(f, n, &next, depth);
}

static void note_value(frame *f, const node *dict, const sc_dict *d, int64_t number, int depth)
{
    const sc_value *next = sc_dict_value(d, number);
    if (dict->in_line)
        note_leaves(f, &dict->child[1], &next, depth);
    else
        note_item(f, &dict->child[1], *next, depth);
}

static bool holds_objects(const node *n) { return n->kind > N_STR || n->kind == N_TENSOR; }

static void note(frame *f, const node *n, sc_value v, int depth)
{
    if (n->kind == N_OPTIONAL)
        n = n->child;
    if (n->kind == N_TENSOR)
        tensor_note(v.t);
    if (n->kind == N_INSTANCE && v.l && !v.l->written && depth < deepest(f)) {
        const sc_value *next = v.l->items;
        v.l->written = true; /* marks the object as seen, since objects may refer to one another */
        for (int i = 0; i < n->n; i++)
            note_leaves(f, &n->child[i], &next, depth + 1);
    }
    if (n->kind == N_LIST && v.l && holds_objects(n->child))
        for (int64_t i = 0; i < v.l->len; i++)
            note_item(f, n->child, v.l->items[i], depth); /* not for lists of bools, which hold no objects */
    if (n->kind == N_MAP && v.d && holds_objects(&n->child[1]))
        for (int64_t i = 0; i < v.d->n; i++)
            if (sc_dict_item(v.d, i, v.d->stride)->hash != SC_HOLE)
                note_value(f, n, v.d, i, depth);
}

void note_tree(frame *f, const node *n, const sc_value **next)
{
    if (is_leaf(n))
        note(f, n, *(*next)++, 0);
    else
        for (int i = 0; i < n->n; i++)
            note_tree(f, &n->child[i], next);
}

/* ---- second walk: make the objects ---- */

static PyObject *give(frame *f, const node *n, sc_value v);
static PyObject *give_tuple(frame *f, const node *n, const sc_value **next, PyObject *(*give_child)(frame *, const node *, const sc_value **));

/* Make an object of the node's class from `items`, and release `items`. Named tuples and complex take their parts as
 * arguments; torch.return_types take one sequence. */
static PyObject *of_class(const node *n, PyObject *items)
{
    if (!items)
        return NULL;
    bool by_parts = n->data == (PyObject *)&PyComplex_Type || PyObject_HasAttrString(n->data, "_fields");
    PyObject *made = by_parts ? PyObject_CallObject(n->data, items) : call_one(n->data, items);
    Py_DECREF(items);
    return made;
}

/* Make a leaf, a tuple or a value that may be None, in a container. */
static PyObject *give_leaves(frame *f, const node *n, const sc_value **next)
{
    if (n->kind == N_OPTIONAL && !is_object(n->child)) {
        bool present = (*next)++->b;
        if (present)
            return give_leaves(f, n->child, next);
        *next += n->rank;
        Py_RETURN_NONE;
    }
    if (n->kind == N_CONSTANT)
        return Py_NewRef(n->data);
    if (n->kind == N_TUPLE)
        return give_tuple(f, n, next, give_leaves);
    if (n->kind == N_NAMED_TUPLE)
        return of_class(n, give_tuple(f, n, next, give_leaves));
    return give(f, n->kind == N_OPTIONAL ? n->child : n, *(*next)++);
}

static PyObject *give_item(frame *f, const node *n, sc_value v)
{
    if (!is_boxed(n) && n->kind != N_OPTIONAL)
        return give(f, n, v);
    const sc_value *next = is_boxed(n) ? v.l->items : &v;
    return give_leaves(f, n, &next);
}

static PyObject *give_str(const sc_str *s)
{
    if (!s) /* an alternative of a union that this call did not return */
        Py_RETURN_NONE;
    return string_make(s->width, s->data, (Py_ssize_t)s->len);
}

enum { AHEAD = 8 }; /* items; old objects may no longer be in the cache */

static PyObject *fresh_items(frame *f, const node *n, const sc_list *l)
{
    PyObject *made = is_tuple(n) ? PyTuple_New(l->len) : PyList_New(l->len);
    for (int64_t i = 0; made && i < l->len; i++) {
        if (l->holds == SC_OBJECTS && i + AHEAD < l->len)
            __builtin_prefetch(l->items[i + AHEAD].o + 1); /* the fields after the head */
        PyObject *item = give_item(f, n->child, sc_list_at(l, i));
        if (!item)
            Py_CLEAR(made);
        else if (is_tuple(n))
            tuple_fill(made, i, item);
        else
            list_fill(made, i, item);
    }
    return made;
}

static PyObject *give_list(frame *f, const node *n, sc_list *l)
{
    if (!l)
        Py_RETURN_NONE;
    if (!l->owner) {
        PyObject *list = fresh_items(f, n, l);
        if (frame_keep(f, list) < 0)
            return NULL;
        l->owner = list;
    }
    return Py_NewRef((PyObject *)l->owner);
}

/* Make an instance and the objects that it refers to. The instance may refer to itself. */
static PyObject *give_instance(frame *f, const node *n, sc_list *l)
{
    if (!l)
        Py_RETURN_NONE;
    if (l->owner)
        return Py_NewRef((PyObject *)l->owner);
    if (f->depth >= deepest(f))
        return PyErr_SetString(PyExc_RecursionError, "a result has too many objects that refer to one another"), NULL;
    PyObject *cls = tuple_item(n->data, 1), *names = tuple_item(n->data, 2);
    bool is_dict = cls == (PyObject *)&PyDict_Type;
    PyObject *made = is_dict ? PyDict_New() : PyObject_CallMethod(cls, "__new__", "O", cls);
    PyObject *attributes = !made ? NULL : is_dict ? Py_NewRef(made) : PyObject_GenericGetDict(made, NULL);
    const sc_value *next = l->items;
    if (frame_keep(f, made) < 0 || !attributes)
        return Py_XDECREF(attributes), NULL;
    l->owner = made;
    f->depth++;
    for (int i = 0; i < n->n; i++) {
        PyObject *item = give_leaves(f, &n->child[i], &next);
        int r = item ? PyDict_SetItem(attributes, tuple_item(names, i), item) : -1;
        Py_XDECREF(item);
        if (r < 0)
            return f->depth = 0, Py_DECREF(attributes), NULL;
    }
    f->depth--;
    Py_DECREF(attributes);
    return Py_NewRef(made);
}

static PyObject *give_key(frame *f, const node *n, const sc_dict *d, const sc_item *item)
{
    const sc_value *next = d->kind[0] == '(' ? item->key.l->items : &item->key;
    return give_leaves(f, n, &next);
}

static PyObject *give_value(frame *f, const node *dict, const sc_dict *d, int64_t number)
{
    const sc_value *next = sc_dict_value(d, number);
    return dict->in_line ? give_leaves(f, &dict->child[1], &next) : give_item(f, &dict->child[1], *next);
}

/* Copy the items of a dict or set into an empty Python dict or set. */
static int fill_table(frame *f, const node *n, sc_dict *d, PyObject *into)
{
    int64_t changes;
    if (sc_dict_walk(f->cx, d, &changes) < 0)
        return PyErr_NoMemory(), -1;
    for (int64_t i = 0; i < d->n; i++) {
        const sc_item *at = sc_dict_item(d, i, d->stride);
        if (sc_dict_has_tuples(d) && sc_in_parts(at->key) && sc_dict_join_key(f->cx, d, i) < 0)
            return PyErr_NoMemory(), -1;
        PyObject *key = give_key(f, &n->child[0], d, at);
        PyObject *item = key && n->kind == N_MAP ? give_value(f, n, d, i) : NULL;
        int r = key && (item || n->kind == N_SET) ? n->kind == N_MAP ? PyDict_SetItem(into, key, item) : PySet_Add(into, key) : -1;
        Py_XDECREF(key);
        Py_XDECREF(item);
        if (r < 0)
            return -1;
    }
    return 0;
}

/* Make a dict or set. `data` is the class of a set, or a function that converts a plain dict to another class of
 * dict. */
static PyObject *give_table(frame *f, const node *n, sc_dict *d)
{
    if (!d)
        Py_RETURN_NONE;
    if (!d->owner) {
        PyObject *made = n->kind == N_MAP ? PyDict_New() : PyObject_CallNoArgs((PyObject *)&PySet_Type);
        if (made && fill_table(f, n, d, made) < 0)
            Py_CLEAR(made);
        if (made && n->data != Py_None && n->data != (PyObject *)&PySet_Type)
            replace_reference(&made, call_one(n->data, made));
        if (frame_keep(f, made) < 0)
            return NULL;
        d->owner = made;
    }
    return Py_NewRef((PyObject *)d->owner);
}

static PyObject *give(frame *f, const node *n, sc_value v)
{
    switch ((enum node_kind)n->kind) {
    case N_TENSOR: return tensor_give(f, v.t);
    case N_INT: return PyLong_FromLongLong(v.i);
    case N_FLOAT: return PyFloat_FromDouble(v.f);
    case N_BOOL: return PyBool_FromLong(v.b);
    case N_STR: return give_str(v.s);
    case N_MAP:
    case N_SET: return give_table(f, n, v.d);
    case N_INSTANCE: return give_instance(f, n, v.l);
    default: return give_list(f, n, v.l);
    }
}

static PyObject *argument_at(const frame *f, PyObject *path)
{
    Py_ssize_t index = PyLong_AsSsize_t(tuple_item(path, 0));
    if (index < 0 || index >= f->n_slots)
        return PyErr_Format(PyExc_IndexError, "internal scriptc error: no parameter %zd", index);
    PyObject *at = Py_NewRef(f->slot[index]);
    for (Py_ssize_t i = 1; at && i < tuple_length(path); i++)
        replace_reference(&at, PyObject_GetItem(at, tuple_item(path, i)));
    return at;
}

static inline PyObject *give_tuple(frame *f, const node *n, const sc_value **next, PyObject *(*give_child)(frame *, const node *, const sc_value **))
{
    PyObject *tuple = PyTuple_New(n->n);
    for (int i = 0; tuple && i < n->n; i++) {
        PyObject *item = give_child(f, &n->child[i], next);
        if (!item)
            Py_CLEAR(tuple);
        else
            tuple_fill(tuple, i, item);
    }
    return tuple;
}

PyObject *give_tree(frame *f, const node *n, const sc_value **next)
{
    PyObject *object = NULL;
    switch ((enum node_kind)n->kind) {
    case N_CONSTANT: return Py_NewRef(n->data);
    case N_ARG: return argument_at(f, n->data);
    case N_PLACE: return Py_NewRef(f->places[n->place]);
    case N_TUPLE: return give_tuple(f, n, next, give_tree);
    case N_NAMED_TUPLE: return of_class(n, give_tuple(f, n, next, give_tree));
    case N_DICT:
        object = PyDict_New();
        for (int i = 0; object && i < n->n; i++) {
            PyObject *item = give_tree(f, &n->child[i], next);
            if (!item || PyDict_SetItem(object, tuple_item(n->data, i), item) < 0)
                Py_CLEAR(object);
            Py_XDECREF(item);
        }
        return object;
    default:
        f->cuts = f->cut && f->cut[*next - f->results];
        return give(f, n, *(*next)++);
    }
}

/* ---- write changes back ---- */

/* Replace the items of a deque. */
static int queue_back(PyObject *queue, PyObject *items)
{
    PyObject *done = PyObject_CallMethod(queue, "clear", NULL);
    if (done)
        replace_reference(&done, PyObject_CallMethod(queue, "extend", "(O)", items));
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int list_back(frame *f, const seen *s)
{
    PyObject *items = fresh_items(f, s->spec, s->made.l);
    int r = !items                       ? -1
            : PyList_Check(s->object)    ? PyList_SetSlice(s->object, 0, list_length(s->object), items)
                                         : queue_back(s->object, items);
    Py_XDECREF(items);
    return r;
}

static int table_back(frame *f, const seen *s)
{
    if (s->spec->kind == N_MAP)
        PyDict_Clear(s->object);
    else if (PySet_Clear(s->object) < 0)
        return -1;
    return fill_table(f, s->spec, s->made.d, s->object);
}

static bool is_written(const seen *s)
{
    return s->spec->kind == N_LIST ? s->made.l && s->made.l->written : s->made.d && s->made.d->written;
}

/* Let results view the memory that tensors have now, whatever memory a store gives them. */
static int keep_bases(frame *f)
{
    for (int i = 0; i < f->n_held; i++) {
        PyObject *base = PyObject_CallMethod(f->held[i].object, "detach", NULL);
        if (frame_keep(f, base) < 0)
            return -1;
        f->held[i].tensor->storage->owner = base;
    }
    return 0;
}

int changes_write_back(frame *f, bool with_results, const variant *v)
{
    const sc_value *next = f->results;
    if (v->keeps_bases && keep_bases(f) < 0)
        return -1;
    for (int i = 0; i < f->n_lists; i++)
        if (is_written(&f->lists[i]))
            note(f, f->lists[i].spec, f->lists[i].made, 0);
    stores_note(f, v);
    if (with_results)
        note_tree(f, &v->result, &next);
    if (with_results && f->record)
        record_note(f);
    for (int i = 0; i < f->n_lists; i++) {
        const seen *s = &f->lists[i];
        if (is_written(s) && (s->spec->kind == N_LIST ? list_back(f, s) : table_back(f, s)) < 0)
            return -1;
    }
    return stores_apply(f, v);
}

PyObject *result_build(frame *f, const variant *v)
{
    const sc_value *next = f->results;
    f->cut = v->cut ? PyBytes_AsString(v->cut) : NULL;
    PyObject *result = give_tree(f, &v->result, &next);
    f->cut = NULL, f->cuts = false;
    return result;
}
