/* store.c - writes the state that a call assigned back to Python: attributes of objects, items of dicts and lists. */
#include "bridge.h"

/* Return the target of a store, or NULL if the call has not assigned it. */
static const sc_target *target_of(const frame *f, int i)
{
    const sc_target *t = i < f->cx->n_targets ? &f->cx->targets[i] : NULL;
    return t && t->form != SC_UNSET ? t : NULL;
}

void stores_note(frame *f, const variant *v)
{
    for (int i = 0; f->cx->n_set && i < v->n_stores; i++) {
        const sc_target *t = target_of(f, i);
        const sc_value *next = t ? t->leaves : NULL;
        if (t && t->form >= 0)
            note_tree(f, &v->stores[i].forms[t->form], &next);
    }
}

static PyObject *owner_of(const frame *f, const store *s) { return s->place < 0 ? s->owner : f->places[s->place]; }

/* Return the container of an item, as found at entry. */
static PyObject *container_of(const frame *f, const store *s)
{
    PyObject *at = Py_NewRef(owner_of(f, s));
    for (Py_ssize_t i = 0; at && i < tuple_length(s->path); i++)
        replace_reference(&at, PyObject_GetItem(at, tuple_item(s->path, i)));
    return at;
}

static int delete(const frame *f, const store *s, PyObject *container)
{
    int r = s->path ? PyObject_DelItem(container, s->key) : PyObject_DelAttr(owner_of(f, s), s->key);
    if (r < 0 && (PyErr_ExceptionMatches(PyExc_AttributeError) || PyErr_ExceptionMatches(PyExc_KeyError)))
        PyErr_Clear(), r = 0; /* assigned and deleted in one call: the item was never in the container */
    return r;
}

static int set(frame *f, const store *s, const sc_target *t, PyObject *container)
{
    const node *form = &s->forms[t->form];
    const sc_value *next = t->leaves;
    bool made = form->kind == N_TENSOR && t->leaves[0].t && !t->leaves[0].t->owner;
    PyObject *value = give_tree(f, form, &next);
    if (!value)
        return -1;
    /* a tensor that the call did not make may be a parameter or buffer, which nn.Module registers */
    bool straight = s->direct && (made || !PyObject_TypeCheck(value, (PyTypeObject *)f->owner->host.tensor_type));
    int r = s->path ? PyObject_SetItem(container, s->key, value)
            : straight ? PyDict_SetItem(s->direct, s->key, value)
                       : PyObject_SetAttr(owner_of(f, s), s->key, value);
    Py_DECREF(value);
    return r;
}

static int apply(frame *f, const variant *v, PyObject **containers)
{
    for (int i = 0; i < v->n_stores; i++) /* all containers first, since a store may replace one of them */
        if (target_of(f, i) && v->stores[i].path && !(containers[i] = container_of(f, &v->stores[i])))
            return -1;
    for (int i = 0; i < v->n_stores; i++) {
        const sc_target *t = target_of(f, i);
        if (t && t->was_deleted && delete(f, &v->stores[i], containers[i]) < 0)
            return -1;
    }
    for (int order = 0; order < f->cx->n_set; order++) /* new keys of a dict keep the order of assignment */
        for (int i = 0; i < v->n_stores; i++) {
            const sc_target *t = target_of(f, i);
            if (t && t->order == order && t->form >= 0 && set(f, &v->stores[i], t, containers[i]) < 0)
                return -1;
        }
    return 0;
}

int stores_apply(frame *f, const variant *v)
{
    if (!f->cx->n_set)
        return 0;
    PyObject **containers = PyMem_Calloc((size_t)v->n_stores, sizeof *containers);
    if (!containers)
        return PyErr_NoMemory(), -1;
    int r = apply(f, v, containers);
    for (int i = 0; i < v->n_stores; i++)
        Py_XDECREF(containers[i]);
    PyMem_Free(containers);
    return r;
}
