/* record.c - records: calls that autograd records, between forward and backward. What forward kept stays in C, and the
 * tensors that Python may write are watched by their versions, as torch's saved tensors are. */
#include "record.h"
#include "sc_ops.h"

enum { MARKED = 255 }; /* sc_tensor.leaf of a result that already is an output of the record */

static PyTypeObject *record_type;

/* ---- what a record keeps ---- */

static record *record_new(plan *p)
{
    record *r = (record *)PyType_GenericAlloc(record_type, 0);
    size_t kept = (size_t)p->n_kept, n = 2 * (kept + (size_t)p->n_weights) + (size_t)p->outputs->n + (size_t)p->n_inputs;
    if (!r)
        return NULL;
    r->kept.prev = r->kept.next = &r->kept;
    r->source = Py_NewRef(p->source);
    r->plan = p;
    p->refs++;
    r->values = PyMem_Calloc(1, (kept + (size_t)p->n_numbers) * sizeof *r->values + n * sizeof(int) + 1);
    if (!r->values) {
        Py_DECREF((PyObject *)r);
        return (record *)PyErr_NoMemory();
    }
    r->at = (int *)(r->values + kept + p->n_numbers);
    r->count = r->at + kept + p->n_weights;
    r->lengths = r->count + kept + p->n_weights;
    r->sources = r->lengths + p->outputs->n;
    return r;
}

/* Let a context have what the record keeps, to free it or to lend it to an entry. */
void record_give_back(record *r, sc_ctx *cx, bool lends)
{
    for (sc_obj *o = r->kept.next; lends && o != &r->kept; o = o->next)
        if (o->kind == SC_STORAGE)
            ((sc_storage *)o)->flags |= SC_EXTERNAL; /* so that the entry writes to none, and copies what it returns */
    if (r->kept.next == &r->kept)
        return;
    sc_obj *first = r->kept.next, *last = r->kept.prev;
    first->prev = cx->live.prev, cx->live.prev->next = first;
    last->next = &cx->live, cx->live.prev = last;
    r->kept.prev = r->kept.next = &r->kept;
    cx->bytes_live += r->bytes, cx->asked_live += r->asked;
    r->bytes = r->asked = 0;
}

/* Take an object and what it refers to out of its context, as it was before Python saw it. */
static void take_object(record *r, sc_obj *o)
{
    if (!o)
        return;
    o->prev->next = o->next, o->next->prev = o->prev;
    o->prev = r->kept.prev, o->next = &r->kept;
    r->kept.prev->next = o, r->kept.prev = o;
    if (o->kind == SC_STORAGE) {
        sc_storage *s = (sc_storage *)o;
        s->flags &= ~(uint32_t)SC_EXTERNAL, s->index = -1, s->owner = NULL;
    } else if (o->kind == SC_TENSOR) {
        ((sc_tensor *)o)->owner = NULL;
        take_object(r, &((sc_tensor *)o)->storage->obj);
    } else if (o->kind == SC_LIST) {
        const sc_list *l = (sc_list *)o;
        for (int64_t i = 0; l->holds == SC_OBJECTS && i < l->len; i++)
            take_object(r, l->items[i].o);
        take_object(r, l->storage ? &l->storage->obj : NULL);
    }
}

/* Take the kept values out of a context, which may then free all else. */
void record_take_kept(record *r, sc_ctx *cx)
{
    const plan *p = r->plan;
    for (int i = 0, k = 0; i < p->n_kept; i++)
        if (p->kept_inputs[i] < 0 && is_object(&p->kept->child[k++]) && r->at[i] < 0)
            take_object(r, r->values[i].o);
    for (const sc_obj *o = r->kept.next; o != &r->kept; o = o->next)
        if (o->kind == SC_STORAGE)
            r->bytes += ((const sc_storage *)o)->capacity, r->asked += ((const sc_storage *)o)->nbytes;
    cx->bytes_live -= r->bytes, cx->asked_live -= r->asked;
}

void record_unwatch(record *r)
{
    while (r->n_watched)
        Py_DECREF(r->watched[--r->n_watched].tensor);
}

/* Takes the reference. checked: backward raises if the tensor has been written. */
static int watch(record *r, PyObject *tensor, bool checked)
{
    if (!tensor || grow(&r->watched, &r->cap_watched, r->n_watched + 1, sizeof *r->watched) < 0)
        return Py_XDECREF(tensor), -1;
    r->watched[r->n_watched++] = (watched){tensor, checked ? tensor_version(&bridge_of(r)->host, tensor) : NO_VERSION};
    return 0;
}

static void free_all(record *r)
{
    record_unwatch(r);
    Py_CLEAR(r->outputs);
    if (r->kept.next && r->kept.next != &r->kept) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        frame *f = frame_acquire(bridge_of(r));
        if (f)
            record_give_back(r, f->cx, false), frame_release(f);
        PyErr_Restore(type, value, traceback);
    }
    r->freed = true;
}

/* ---- forward ---- */

/* Return whether only the call has an object of C: its memory does not become that of a Python object. */
static bool is_private(const sc_obj *o)
{
    if (!o)
        return true;
    if (o->kind == SC_TENSOR) {
        const sc_storage *s = ((const sc_tensor *)o)->storage;
        return !((const sc_tensor *)o)->owner && !(s->flags & SC_EXTERNAL) && s->index == -1 && s->obj.refs != SC_IMMORTAL;
    }
    const sc_list *l = (const sc_list *)o;
    if (o->kind != SC_LIST || l->owner || l->mask)
        return false;
    for (int64_t i = 0; l->holds == SC_OBJECTS && i < l->len; i++)
        if (!is_private(l->items[i].o))
            return false;
    return true;
}

/* Decide which kept values stay in C, when all results are noted. To note one kept value may expose the memory of another. */
void record_note(frame *f)
{
    record *r = f->record;
    const plan *p = r->plan;
    for (int i = 0; i < p->n_kept; i++)
        r->at[i] = -1;
    for (bool changes = true; changes;) {
        const sc_value *value = f->results + p->first_kept;
        changes = false;
        for (int i = 0, k = 0; i < p->n_kept; i++) {
            if (p->kept_inputs[i] >= 0)
                continue;
            const node *n = &p->kept->child[k++];
            const sc_value *next = value++;
            if (r->at[i] < 0 && is_object(n) && (f->cx->n_kept || !is_private(next->o))) {
                note_tree(f, n, &next);
                r->at[i] = 0, changes = true;
            }
        }
    }
}

/* Return whether a tensor is one of the call's arguments, or outside. */
static bool is_argument(const frame *f, const sc_tensor *t)
{
    const sc_storage *s = t->storage;
    return s->flags & SC_EXTERNAL && s->index >= 0 && s->index < f->n_held && f->held[s->index].tensor == t;
}

/* Watch a kept tensor. An alias without a grad_fn refers to no record, so the two form no cycle. */
static int watch_made(frame *f, record *r, const sc_tensor *t, PyObject *tensor)
{
    return watch(r, is_argument(f, t) ? Py_NewRef(tensor) : PyObject_CallMethod(tensor, "detach", NULL), true);
}

/* Return the first tensor of an argument, and their number in *n. The frame holds tensors in the order of arguments. */
static const held *held_of(const frame *f, int argument, int *n)
{
    int first = 0, end = f->n_held;
    while (first < end) {
        int middle = first + (end - first) / 2;
        if (f->held[middle].argument < argument)
            first = middle + 1;
        else
            end = middle;
    }
    while (end < f->n_held && f->held[end].argument == argument)
        end++;
    *n = end - first;
    return f->held + first;
}

/* Watch the tensors of an argument. */
static int watch_argument(frame *f, record *r, int argument, bool checked)
{
    int n;
    const held *of = held_of(f, argument, &n);
    for (int i = 0; i < n; i++)
        if (watch(r, Py_NewRef(of[i].object), checked) < 0)
            return -1;
    return 0;
}

/* Return a copy of a list of numbers that only the call has. Python has the list itself, and may change it. */
static sc_list *copied(frame *f, const sc_list *l)
{
    sc_list *copy = sc_list_new(f->cx, l->holds, l->len);
    for (int64_t i = 0; copy && i < l->len; i++)
        if (sc_list_append(f->cx, copy, l->holds, l->holds == SC_BOOLS ? (sc_value){.b = l->bools[i]} : l->items[i]) < 0)
            copy = NULL;
    return copy ? copy : (PyErr_NoMemory(), NULL);
}

static int keep(frame *f, record *r)
{
    const plan *p = r->plan;
    const sc_value *value = f->results + p->first_kept;
    if (p->n_numbers)
        memcpy(r->values + p->n_kept, f->results + p->first_number, (size_t)p->n_numbers * sizeof *r->values);
    if (grow(&r->watched, &r->cap_watched, f->n_held, sizeof *r->watched) < 0) /* most often enough */
        return -1;
    for (int i = 0, k = 0; i < p->n_kept; i++) {
        int before = r->n_watched;
        if (p->kept_inputs[i] < 0) {
            const node *n = &p->kept->child[k++];
            const sc_value *next = value++;
            r->values[i] = *next;
            if (r->at[i] < 0)
                continue;
            if (n->kind == N_LIST && (!next->l || next->l->holds != SC_OBJECTS)) {
                if (next->l && !(r->values[i].l = copied(f, next->l)))
                    return -1;
                r->at[i] = -1;
                continue;
            }
            PyObject *made = give_tree(f, n, &next);
            if (!made)
                return -1;
            int status = n->kind == N_TENSOR ? watch_made(f, r, r->values[i].t, made) : 0;
            for (int64_t item = 0; n->kind == N_LIST && status == 0 && item < r->values[i].l->len; item++)
                status = watch_made(f, r, r->values[i].l->items[item].t, item_at(made, item));
            Py_DECREF(made);
            if (status < 0)
                return -1;
        } else if (watch_argument(f, r, p->kept_inputs[i], true) < 0) {
            return -1;
        }
        r->at[i] = before, r->count[i] = r->n_watched - before;
    }
    for (int i = 0; i < p->n_weights; i++) {
        r->at[p->n_kept + i] = r->n_watched;
        if (watch_argument(f, r, f->n_args - p->n_weights + i, PyBytes_AsString(p->reads)[i]) < 0)
            return -1;
    }
    return 0;
}

/* Find where the gradient of a result will be. requires: the result requires grad. Return whether it is a new output. */
static int add_slot(frame *f, record *r, sc_tensor *t, const node *n, bool requires)
{
    if (grow(&r->slots, &r->cap_slots, r->n_slots + 1, sizeof *r->slots) < 0)
        return -1;
    bool is_new = t && requires && t->leaf != MARKED && !is_argument(f, t);
    slot *made = &r->slots[r->n_slots++];
    *made = (slot){is_new ? r->n_outputs++ : -1, n->dtype, t ? t->rank : n->rank, r->n_sizes};
    if (is_new)
        t->leaf = MARKED;
    if (is_new && r->plan->outputs->n == 1 && r->plan->outputs->child->kind == N_TENSOR)
        return is_new; /* its gradient is given, or backward does not run */
    if (grow(&r->sizes, &r->cap_sizes, r->n_sizes + made->rank, sizeof *r->sizes) < 0)
        return -1;
    for (int d = 0; d < made->rank; d++)
        r->sizes[r->n_sizes++] = t ? t->size[d] : 0;
    return is_new;
}

/* List the tensors that autograd shall see, in r->outputs. made: the results that they are among, as Python objects. */
static int find_outputs(frame *f, record *r, PyObject *made)
{
    const plan *p = r->plan;
    const char *requires = PyBytes_AsString(p->requires);
    PyObject *found = PyList_New(0);
    int status = found ? 0 : -1;
    for (int i = 0; status >= 0 && i < p->outputs->n; i++) {
        const node *n = &p->outputs->child[i];
        sc_value v = f->results[p->first_output + i];
        PyObject *object = tuple_item(made, i);
        r->lengths[i] = -1;
        if (n->kind == N_TENSOR) {
            status = add_slot(f, r, v.t, n, requires[i]);
            if (status > 0)
                status = PyList_Append(found, object);
            continue;
        }
        r->lengths[i] = v.l ? (int)v.l->len : 0;
        for (int k = 0; status >= 0 && k < r->lengths[i]; k++) {
            status = add_slot(f, r, v.l->items[k].t, n->child, requires[i]);
            if (status > 0)
                status = PyList_Append(found, item_at(object, k));
        }
    }
    r->outputs = status < 0 ? NULL : PyList_AsTuple(found);
    Py_XDECREF(found);
    return r->outputs ? 0 : -1;
}

/* Return the arguments of autograd's function: the record, and the tensors that get gradients. Owns them, by *n. */
static PyObject **sources_of(frame *f, record *r, Py_ssize_t *n)
{
    const plan *p = r->plan;
    PyObject **args = PyMem_Calloc((size_t)f->n_held + 1, sizeof *args);
    if (!args)
        return (PyObject **)PyErr_NoMemory();
    args[(*n)++] = Py_NewRef((PyObject *)r);
    for (int i = 0; i < p->n_inputs; i++) {
        const held *of = held_of(f, p->inputs[i], &r->sources[i]);
        for (int k = 0; k < r->sources[i]; k++)
            args[(*n)++] = Py_NewRef(of[k].object);
    }
    return args;
}

static int note_leaves(frame *f)
{
    for (int i = 0; i < f->n_held; i++) {
        PyObject *kind = f->held[i].requires_grad ? call_one(f->owner->host.leaf_kind, f->held[i].object) : NULL;
        if (f->held[i].requires_grad && !kind)
            return -1;
        f->held[i].tensor->leaf = kind ? (uint8_t)PyLong_AsLong(kind) : SC_NO_LEAF;
        Py_XDECREF(kind);
    }
    return 0;
}

/* Let autograd see the outputs. Return what the call returns. */
static PyObject *attach(const plan *p, record *r, PyObject *value, PyObject *const *args, Py_ssize_t n)
{
    PyObject *outputs = Py_NewRef(r->outputs), *result = NULL, *seen = call_vector(p->apply, args, n, NULL);
    bool same = seen && PyTuple_CheckExact(seen) && tuple_length(seen) == tuple_length(outputs);
    for (Py_ssize_t i = 0; same && i < tuple_length(outputs); i++)
        same = tuple_item(seen, i) == tuple_item(outputs, i);
    if (seen)
        result = same ? Py_NewRef(value) : PyObject_CallFunctionObjArgs(p->rebuild, value, outputs, seen, NULL);
    Py_XDECREF(seen);
    Py_DECREF(outputs);
    return result;
}

PyObject *record_call(frame *f, variant *v, plan *p)
{
    PyObject *made = NULL, *result = NULL, **args = NULL;
    Py_ssize_t n = 0;
    record *r = (p->reads_leaves && note_leaves(f) < 0) || frame_fit(f, p->forward) < 0 ? NULL : record_new(p);
    if (r) {
        f->record = r;
        made = execute(f, p->forward);
        f->record = NULL;
        v->seconds = p->forward->seconds, v->n_taken = p->forward->n_taken;
    }
    bool kept = made && find_outputs(f, r, tuple_item(made, 1)) == 0 && keep(f, r) == 0;
    if (kept)
        record_take_kept(r, f->cx), args = sources_of(f, r, &n);
    frame_release(f);
    if (args)
        result = r->n_outputs ? attach(p, r, tuple_item(made, 0), args, n) : Py_NewRef(tuple_item(made, 0));
    while (n)
        Py_DECREF(args[--n]);
    PyMem_Free(args);
    Py_XDECREF(made);
    Py_XDECREF((PyObject *)r);
    return result;
}

/* ---- the type ---- */

static PyObject *record_free(PyObject *self, PyObject *Py_UNUSED(none))
{
    if (!((record *)self)->running)
        free_all((record *)self);
    Py_RETURN_NONE;
}

static PyObject *record_outputs(PyObject *self, PyObject *Py_UNUSED(none))
{
    record *r = (record *)self;
    PyObject *outputs = r->outputs;
    r->outputs = NULL; /* autograd's outputs refer to the record */
    return outputs ? outputs : PyTuple_New(0);
}

static int record_traverse(PyObject *self, visitproc visit, void *arg)
{
    record *r = (record *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(r->source);
    Py_VISIT(r->outputs);
    for (int i = 0; i < r->n_watched; i++)
        Py_VISIT(r->watched[i].tensor);
    return 0;
}

static int record_clear(PyObject *self)
{
    record_unwatch((record *)self);
    Py_CLEAR(((record *)self)->outputs);
    ((record *)self)->freed = true;
    return 0;
}

static void record_dealloc(PyObject *self)
{
    record *r = (record *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    free_all(r);
    PyMem_Free(r->values);
    PyMem_Free(r->watched);
    PyMem_Free(r->slots);
    PyMem_Free(r->sizes);
    if (r->plan)
        plan_release(r->plan);
    Py_XDECREF(r->source);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"outputs", record_outputs, METH_NOARGS, "The tensors that autograd shall see; once."},
    {"backward", (PyCFunction)(void (*)(void))record_backward, METH_FASTCALL, "The gradients of the inputs."},
    {"backward_kept", (PyCFunction)(void (*)(void))record_backward_kept, METH_FASTCALL, "The same; frees nothing."},
    {"free", record_free, METH_NOARGS, "Free what forward kept."},
    {"places", record_places, METH_NOARGS, "The outputs and the inputs that have the tensors that autograd sees."},
    {NULL, NULL, 0, NULL}};
__extension__ static PyType_Slot slots[] = { /* a PyType_Slot holds functions as void * */
    {Py_tp_dealloc, record_dealloc}, {Py_tp_traverse, record_traverse}, {Py_tp_clear, record_clear},
    {Py_tp_methods, methods},        {0, NULL}};
static PyType_Spec spec = {"scriptc.runtime._bridge.Record", sizeof(record), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                           slots};

int record_type_init(void)
{
    if (!record_type)
        record_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return record_type ? 0 : -1;
}
