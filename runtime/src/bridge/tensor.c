/* tensor.c - moves tensors across the boundary: torch's into the context of a call, and results back out. */
#include "bridge.h"

/* ORDER DTYPE: sc.h */
static const sc_dl_dtype dl_dtypes[SC_NDTYPES] = {
    {SC_DL_BOOL, 8, 1}, {SC_DL_UINT, 8, 1},  {SC_DL_INT, 8, 1},     {SC_DL_INT, 16, 1},   {SC_DL_INT, 32, 1},
    {SC_DL_INT, 64, 1}, {SC_DL_FLOAT, 16, 1}, {SC_DL_BFLOAT, 16, 1}, {SC_DL_FLOAT, 32, 1}, {SC_DL_FLOAT, 64, 1},
    {SC_DL_COMPLEX, 64, 1}, {SC_DL_COMPLEX, 128, 1},
};

static int dtype_of(sc_dl_dtype d)
{
    for (int k = SC_NDTYPES - 1; k >= 0; k--)
        if (dl_dtypes[k].code == d.code && dl_dtypes[k].bits == d.bits && d.lanes == 1)
            return k;
    return -1;
}

/* ---- in ---- */

static void free_described(sc_dl_managed *m) { PyMem_Free(m); }

/* Describe a tensor without the exchange API: describe(t) gives (data pointer, dtype, sizes, strides). */
static int describe(const host *h, PyObject *o, sc_dl_managed **out)
{
    PyObject *told = call_one(h->describe, o), *sizes, *strides;
    unsigned long long data;
    int dtype, rank;
    sc_dl_managed *m = NULL;
    if (!told || !PyArg_ParseTuple(told, "KiO!O!", &data, &dtype, &PyTuple_Type, &sizes, &PyTuple_Type, &strides))
        goto done;
    rank = (int)tuple_length(sizes);
    if (!(m = PyMem_Calloc(1, sizeof *m + 2 * (size_t)rank * sizeof(int64_t)))) {
        PyErr_NoMemory();
        goto done;
    }
    m->deleter = free_described;
    m->tensor = (sc_dl_tensor){.data = (void *)(uintptr_t)data, .device = {SC_DL_CPU, 0}, .ndim = rank,
                               .dtype = dl_dtypes[dtype], .shape = (int64_t *)(m + 1)};
    m->tensor.strides = m->tensor.shape + rank;
    for (int d = 0; d < rank; d++) {
        m->tensor.shape[d] = PyLong_AsLongLong(tuple_item(sizes, d));
        m->tensor.strides[d] = PyLong_AsLongLong(tuple_item(strides, d));
    }
done:
    Py_XDECREF(told);
    *out = m;
    return m ? 0 : -1;
}

/* Return a word of a tensor's implementation. */
static uint64_t word_of(const host *h, PyObject *o, Py_ssize_t at)
{
    const char *impl = *(const char *const *)((const char *)o + h->impl_at);
    uint64_t word;
    memcpy(&word, impl + at, sizeof word);
    return word;
}

/* Return whether a tensor has only the dispatch keys of plain tensors. DLPack loses marks that change the meaning of a
 * tensor (a lazily negated view, names of dimensions), and to ask torch for one of them costs more than the whole
 * exchange. So the keys are read at the offset that tensors.py found, and torch is asked only about tensors with
 * unusual keys. */
static bool has_usual_keys(const host *h, PyObject *o)
{
    if (!h->usual_keys)
        return false;
    return !(word_of(h, o, h->keys_at) & ~h->usual_keys);
}

static bool is_usual(const host *h, PyObject *o)
{
    if (has_usual_keys(h, o))
        return true;
    PyObject *reason = call_one(h->why_refused, o);
    Py_XDECREF(reason);
    return reason == Py_None;
}

/* Return whether a tensor begins after the start of its storage, which DLPack does not tell. */
static bool starts_inside(const host *h, PyObject *o)
{
    if (!h->offset_at)
        return true; /* unknown, so assume it */
    return word_of(h, o, h->offset_at) != 0;
}

bool tensor_requires_grad(const host *h, PyObject *o)
{
    if (h->autograd_at && !word_of(h, o, h->autograd_at))
        return false;
    PyObject *requires = PyObject_GetAttr(o, h->requires_grad_key);
    Py_XDECREF(requires);
    return requires == Py_True;
}

int64_t tensor_version(const host *h, PyObject *o)
{
    if (h->counter_at) {
        uintptr_t counter = (uintptr_t)word_of(h, o, h->counter_at);
        return counter ? (int64_t) * (const uint32_t *)(counter + (uintptr_t)h->version_at) : NO_VERSION;
    }
    PyObject *version = PyObject_GetAttr(o, h->version_key);
    int64_t found = version ? PyLong_AsLongLong(version) : NO_VERSION;
    Py_XDECREF(version);
    PyErr_Clear(); /* inference tensors have no version */
    return found;
}

static int refuse(const frame *f, PyObject *o)
{
    const host *h = &f->owner->host;
    PyErr_Clear(); /* the message of the exchange names no argument */
    PyObject *never = PyObject_CallFunctionObjArgs(h->refuse_tensor, o, f->naming, NULL);
    Py_XDECREF(never);
    return -1;
}

void tensor_let_go(held *h)
{
    if (h->managed)
        h->managed->deleter(h->managed);
    Py_DECREF(h->object);
}

/* Return the next row of held tensors, filled for `o`. An earlier variant of this call may have filled the row with the
 * same tensor. If the call keeps the GIL, torch lends the description of a plain tensor, which is much cheaper than a
 * shared reference. For other tensors (quantized, nested, negated) a lent description would be wrong or would crash. */
static held *hold(frame *f, PyObject *o)
{
    const host *h = &f->owner->host;
    if (f->n_held < f->n_taken && f->held[f->n_held].object == o)
        return &f->held[f->n_held++];
    while (f->n_taken > f->n_held)
        tensor_let_go(&f->held[--f->n_taken]);
    if (grow(&f->held, &f->cap_held, f->n_held + 1, sizeof *f->held) < 0)
        return NULL;
    sc_dl_managed *m = NULL;
    sc_dl_tensor lent;
    int status = f->lent && has_usual_keys(h, o) ? h->api->borrow_from_object(o, &lent)
                 : h->api                        ? h->api->managed_from_object(o, &m)
                                                 : describe(h, o, &m);
    if (status < 0)
        return refuse(f, o), NULL;
    held *row = &f->held[f->n_held++];
    *row = (held){Py_NewRef(o), m, m ? m->tensor : lent, NULL, 0, false};
    f->n_taken = f->n_held;
    return row;
}

static bool fits(const node *spec, const sc_tensor *t)
{
    if (t->dtype != spec->dtype || t->rank != spec->rank)
        return false;
    for (int d = 0; d < spec->rank; d++)
        if (spec->size[d] >= 0 && spec->size[d] != t->size[d])
            return false;
    return !spec->contiguous || sc_is_contiguous(t);
}

/* Return the number of bytes from the first element to the end of the last. */
static size_t extent_of(int rank, const int64_t *size, const int64_t *stride, size_t item)
{
    size_t last = 0;
    for (int d = 0; d < rank; d++) {
        if (size[d] == 0)
            return 0;
        last += (size_t)(size[d] - 1) * (size_t)stride[d];
    }
    return (last + 1) * item;
}

int tensor_take(frame *f, PyObject *o, const node *spec, sc_value *out)
{
    const host *h = &f->owner->host;
    int64_t dense[SC_MAX_RANK], *stride;
    if ((PyObject *)Py_TYPE(o) != h->tensor_type && (PyObject *)Py_TYPE(o) != h->parameter_type)
        return PyObject_TypeCheck(o, (PyTypeObject *)h->tensor_type) ? refuse(f, o) : 0;
    held *row = hold(f, o);
    if (!row)
        return -1;
    row->argument = f->n_args;
    const sc_dl_tensor *d = &row->given;
    int dtype = dtype_of(d->dtype);
    if (dtype < 0 || d->device.type != SC_DL_CPU || d->ndim > SC_MAX_RANK || !is_usual(h, o))
        return refuse(f, o);
    if (!(stride = d->strides)) {
        int64_t step = 1;
        for (int k = d->ndim - 1; k >= 0; step *= d->shape[k--])
            dense[k] = step;
        stride = dense;
    }
    size_t extent = extent_of(d->ndim, d->shape, stride, sc_dtype_size(dtype));
    if (!d->data && extent)
        return refuse(f, o);
    uint32_t flags = SC_EXTERNAL | (row->managed && row->managed->flags & SC_DL_READ_ONLY ? SC_READONLY : 0);
    if (starts_inside(h, o))
        flags |= SC_PARTIAL;
    sc_tensor *t = sc_from_external(f->cx, (char *)d->data + d->byte_offset, extent, dtype, d->ndim, d->shape, stride,
                                    flags, f->n_held - 1, o);
    if (!t)
        return PyErr_NoMemory(), -1;
    t->owner = o;
    row->tensor = out->t = t;
    return fits(spec, t);
}

/* ---- out ---- */

int frame_keep(frame *f, PyObject *o)
{
    if (!o || grow(&f->made, &f->cap_made, f->n_made + 1, sizeof *f->made) < 0)
        return Py_XDECREF(o), -1;
    f->made[f->n_made++] = o;
    return 0;
}

/* A fresh storage is exported in one of two ways. It becomes one tensor if it has one result, which begins at its
 * start. Otherwise, it becomes a flat base with a view for each result. Until then, the storage's index tells which
 * way, and its owner is the only tensor seen so far, or the base. */
enum { UNSEEN = -1, ALONE = -2, SHARED = -3 };

static bool is_fresh(const sc_storage *s) { return !(s->flags & SC_EXTERNAL); }

void tensor_note(sc_tensor *t)
{
    if (!t || t->owner || !is_fresh(t->storage))
        return;
    sc_storage *s = t->storage;
    bool alone = s->index == UNSEEN ? t->data == s->data : s->index == ALONE && s->owner == t;
    s->index = alone ? ALONE : SHARED;
    s->owner = alone ? t : NULL;
}

typedef struct exported { /* the memory that an exported tensor keeps alive */
    sc_dl_managed managed;
    sc_storage *storage;
    counters *counters;
    int64_t extents[]; /* the sizes, then the strides */
} exported;

static void free_exported(sc_dl_managed *m) /* called without the GIL, on any thread */
{
    exported *e = (exported *)m;
    atomic_fetch_sub(&e->counters->exported, 1);
    sc_storage_free_detached(e->storage);
    counters_release(e->counters);
    free(e);
}

/* Move storage `s` out of the context, into a torch tensor of this dtype, these sizes and strides. */
static PyObject *export(frame *f, sc_storage *s, int dtype, int rank, const int64_t *size, const int64_t *stride)
{
    exported *e = calloc(1, sizeof *e + 2 * (size_t)rank * sizeof(int64_t));
    void *object = NULL;
    if (!e)
        return PyErr_NoMemory();
    if (rank) {
        memcpy(e->extents, size, (size_t)rank * sizeof *size);
        memcpy(e->extents + rank, stride, (size_t)rank * sizeof *stride);
    }
    e->storage = s = sc_storage_detach(f->cx, s);
    e->counters = f->owner->counters;
    e->managed = (sc_dl_managed){
        .version = {SC_DL_MAJOR, 1}, .deleter = free_exported,
        .tensor = {.data = s->data, .device = {SC_DL_CPU, 0}, .ndim = rank, .dtype = dl_dtypes[dtype],
                   .shape = e->extents, .strides = e->extents + rank}};
    if (e->counters->counting)
        atomic_fetch_sub(&e->counters->blocks, 1);
    atomic_fetch_add(&e->counters->refs, 1);
    atomic_fetch_add(&e->counters->exported, 1);
    return f->owner->host.api->managed_to_object(&e->managed, &object) < 0 ? NULL : object;
}

/* Make a flat tensor over the bytes of `s`, for views into it. */
static PyObject *flat_base(frame *f, sc_storage *s, int dtype)
{
    const host *h = &f->owner->host;
    int64_t n = (int64_t)(s->nbytes / sc_dtype_size(dtype)), one = 1;
    PyObject *base = NULL;
    unsigned long long data;
    if (h->api && is_fresh(s))
        return export(f, s, dtype, 1, &n, &one);
    PyObject *made = PyObject_CallFunction(h->new_flat, "iL", dtype, (long long)n); /* (tensor, data pointer) */
    if (made && PyArg_ParseTuple(made, "OK", &base, &data)) {
        Py_INCREF(base);
        if (n)
            memcpy((void *)(uintptr_t)data, s->data, (size_t)n * sc_dtype_size(dtype));
    }
    Py_XDECREF(made);
    return base;
}

static PyObject *sizes_of(int n, const int64_t *values)
{
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple && i < n; i++) {
        PyObject *value = PyLong_FromLongLong(values[i]);
        if (!value)
            Py_CLEAR(tuple);
        else
            tuple_fill(tuple, i, value);
    }
    return tuple;
}

static PyObject *view_of(frame *f, PyObject *base, const sc_tensor *t)
{
    long long offset = ((char *)t->data - (char *)t->storage->data) / (long long)sc_dtype_size(t->dtype);
    PyObject *size = sizes_of(t->rank, t->size), *stride = sizes_of(t->rank, t->stride), *view = NULL;
    if (size && stride)
        view = PyObject_CallFunction(f->owner->host.view, "OiOOL", base, (int)t->dtype, size, stride, offset);
    Py_XDECREF(size);
    Py_XDECREF(stride);
    return view;
}

/* Return the Python object of a result, a new reference. The same tensor always gives the same object. */
PyObject *tensor_give(frame *f, sc_tensor *t)
{
    if (!t)
        Py_RETURN_NONE;
    if (t->owner)
        return Py_NewRef((PyObject *)t->owner);
    sc_storage *s = t->storage;
    PyObject *object;
    if (s->index == ALONE && f->owner->host.api) {
        object = export(f, s, t->dtype, t->rank, t->size, t->stride);
    } else {
        if (s->index < 0 && s->index != SHARED)
            s->owner = NULL, s->index = SHARED;
        if (!s->owner) {
            PyObject *base = flat_base(f, s, t->dtype);
            if (frame_keep(f, base) < 0)
                return NULL;
            s->owner = base;
        }
        object = view_of(f, s->owner, t);
        if (object && f->cuts && !is_fresh(s))
            replace_reference(&object, PyObject_CallMethod(object, "detach", NULL));
    }
    if (frame_keep(f, object) < 0)
        return NULL;
    t->owner = object;
    return Py_NewRef(object);
}
