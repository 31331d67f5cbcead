/* result.c - from results and written lists of a finished call to Python objects. */
#include "bridge.h"

/* ---- first walk: which storages do the results share? ---- */

static void note(const node *n, sc_value v);

/* The items of a tuple in a list, those of tuples in it in line. */
static void note_items(const node *n, const sc_value **next)
{
    for (int i = 0; i < n->n; i++)
        if (n->child[i].kind == N_TUPLE)
            note_items(&n->child[i], next);
        else
            note(&n->child[i], *(*next)++);
}

static void note(const node *n, sc_value v)
{
    if (n->kind == N_TUPLE) {
        const sc_value *next = v.l->items;
        note_items(n, &next);
    }
    if (n->kind == N_TENSOR)
        tensor_note(v.t);
    if (n->kind == N_LIST && v.l && n->child->kind != N_INT)
        for (int64_t i = 0; i < v.l->len; i++)
            note(n->child, v.l->items[i]);
}

void note_tree(const node *n, const sc_value **next)
{
    if (n->kind <= N_STR || n->kind == N_LIST)
        note(n, *(*next)++);
    else
        for (int i = 0; i < n->n; i++)
            note_tree(&n->child[i], next);
}

/* ---- second walk: the objects ---- */

static PyObject *give(frame *f, const node *n, sc_value v);
static PyObject *give_tuple(frame *f, const node *n, const sc_value **next);

static PyObject *give_str(const sc_str *s)
{
    if (!s) /* one of several results, and not the one */
        Py_RETURN_NONE;
    return PyUnicode_FromKindAndData(s->width, s->data, (Py_ssize_t)s->len);
}

static PyObject *fresh_items(frame *f, const node *element, const sc_list *l)
{
    PyObject *list = PyList_New(l->len);
    for (int64_t i = 0; list && i < l->len; i++) {
        PyObject *item = give(f, element, l->items[i]);
        if (!item)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, item);
    }
    return list;
}

static PyObject *give_list(frame *f, const node *n, sc_list *l)
{
    if (!l)
        Py_RETURN_NONE;
    if (!l->owner) {
        PyObject *list = fresh_items(f, n->child, l);
        if (frame_keep(f, list) < 0)
            return NULL;
        l->owner = list;
    }
    return Py_NewRef((PyObject *)l->owner);
}

static PyObject *give(frame *f, const node *n, sc_value v)
{
    switch ((enum node_kind)n->kind) {
    case N_TENSOR: return tensor_give(f, v.t);
    case N_INT: return PyLong_FromLongLong(v.i);
    case N_FLOAT: return PyFloat_FromDouble(v.f);
    case N_BOOL: return PyBool_FromLong(v.b);
    case N_STR: return give_str(v.s);
    case N_TUPLE: {
        const sc_value *next = v.l->items;
        return give_tuple(f, n, &next);
    }
    default: return give_list(f, n, v.l);
    }
}

static PyObject *argument_at(const frame *f, PyObject *path)
{
    Py_ssize_t index = PyLong_AsSsize_t(PyTuple_GET_ITEM(path, 0));
    if (index < 0 || index >= f->n_slots)
        return PyErr_Format(PyExc_IndexError, "internal scriptc error: no parameter %zd", index);
    PyObject *at = Py_NewRef(f->slot[index]);
    for (Py_ssize_t i = 1; at && i < PyTuple_GET_SIZE(path); i++)
        Py_SETREF(at, PyObject_GetItem(at, PyTuple_GET_ITEM(path, i)));
    return at;
}

static PyObject *give_tuple(frame *f, const node *n, const sc_value **next)
{
    PyObject *tuple = PyTuple_New(n->n);
    for (int i = 0; tuple && i < n->n; i++) {
        PyObject *item = give_tree(f, &n->child[i], next);
        if (!item)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, item);
    }
    return tuple;
}

PyObject *give_tree(frame *f, const node *n, const sc_value **next)
{
    PyObject *items, *object = NULL;
    switch ((enum node_kind)n->kind) {
    case N_KNOWN: return Py_NewRef(n->data);
    case N_ARG: return argument_at(f, n->data);
    case N_TUPLE: return give_tuple(f, n, next);
    case N_NAMEDTUPLE: /* named tuples take their fields as arguments, torch.return_types one sequence */
        if (!(items = give_tuple(f, n, next)))
            return NULL;
        object = PyObject_HasAttrString(n->data, "_fields") ? PyObject_CallObject(n->data, items)
                                                            : PyObject_CallOneArg(n->data, items);
        Py_DECREF(items);
        return object;
    case N_DICT:
        object = PyDict_New();
        for (int i = 0; object && i < n->n; i++) {
            PyObject *item = give_tree(f, &n->child[i], next);
            if (!item || PyDict_SetItem(object, PyTuple_GET_ITEM(n->data, i), item) < 0)
                Py_CLEAR(object);
            Py_XDECREF(item);
        }
        return object;
    default: return give(f, n, *(*next)++);
    }
}

int changes_write_back(frame *f, bool with_results, const variant *v)
{
    const sc_value *next = f->results;
    for (int i = 0; i < f->n_lists; i++)
        if (f->lists[i].list->written)
            for (int64_t k = 0; k < f->lists[i].list->len; k++)
                note(f->lists[i].spec, f->lists[i].list->items[k]);
    stores_note(f, v);
    if (with_results)
        note_tree(&v->result, &next);
    for (int i = 0; i < f->n_lists; i++) {
        const seen *s = &f->lists[i];
        if (!s->list->written)
            continue;
        PyObject *items = fresh_items(f, s->spec, s->list);
        if (!items || PyList_SetSlice(s->object, 0, PyList_GET_SIZE(s->object), items) < 0)
            return Py_XDECREF(items), -1;
        Py_DECREF(items);
    }
    return stores_apply(f, v);
}

PyObject *result_build(frame *f, const variant *v)
{
    const sc_value *next = f->results;
    return give_tree(f, &v->result, &next);
}
