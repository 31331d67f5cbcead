/* record_backward.c - runs the backward entry of a record when gradients arrive. */
#include "record.h"
#include "sc_ops.h"

#include <sched.h>

PyObject *item_at(PyObject *sequence, Py_ssize_t i)
{
    return PyList_Check(sequence) ? list_item(sequence, i) : tuple_item(sequence, i);
}

static int take_tensor(frame *f, const node *n, PyObject *tensor, sc_value *out)
{
    int fits = tensor_take(f, tensor, n, out);
    if (fits == 0)
        PyErr_SetString(PyExc_AssertionError, "the arguments of a gradient entry do not fit it");
    return fits > 0 ? 0 : -1;
}

/* Marshal tensors as a list. take: marshals item `i` of `from`. */
static int take_tensors(frame *f, const node *n, int count, int (*take)(frame *, const node *, const void *, int, sc_value *),
                        const void *from, sc_value *out)
{
    sc_list *l = sc_list_new(f->cx, SC_OBJECTS, count);
    if (!l)
        return PyErr_NoMemory(), -1;
    for (int i = 0; i < count; i++) {
        sc_value item = {0};
        if (take(f, n->child, from, i, &item) < 0)
            return -1;
        if (sc_list_append(f->cx, l, l->holds, item) < 0)
            return PyErr_NoMemory(), -1;
    }
    l->written = false;
    out->l = l;
    return 0;
}

static int take_watched(frame *f, const node *n, const void *from, int i, sc_value *out)
{
    return take_tensor(f, n, ((const watched *)from)[i].tensor, out);
}

/* Make zeros that share one element. Their memory is external, so that the entry neither writes to it nor returns it. */
static int make_zeros(frame *f, int dtype, int rank, const int64_t *sizes, sc_value *out)
{
    static const int64_t strides[SC_MAX_RANK];
    size_t bytes = sc_dtype_size(dtype);
    sc_tensor *element = sc_empty(f->cx, dtype, 0, NULL);
    if (element)
        out->t = sc_from_external(f->cx, memset(element->data, 0, bytes), bytes, dtype, rank, sizes, strides, 0, -1, NULL);
    return element && out->t ? 0 : (PyErr_NoMemory(), -1);
}

typedef struct arrived { const slot *slots; const int64_t *sizes; PyObject *const *grads; } arrived;

static int take_gradient(frame *f, const node *n, const void *from, int i, sc_value *out)
{
    const arrived *a = from;
    const slot *s = &a->slots[i];
    if (s->number >= 0 && a->grads[s->number] != Py_None)
        return take_tensor(f, n, a->grads[s->number], out);
    return make_zeros(f, s->dtype, s->rank, a->sizes + s->first_size, out);
}

/* Note for each output whether its gradient is given, or that of an item of it. Return whether any is. */
static bool note_given(const record *r, PyObject *const *grads, char *given)
{
    const slot *s = r->slots;
    bool any = false;
    for (int i = 0; i < r->plan->outputs->n; i++)
        for (int n = r->lengths[i] < 0 ? 1 : r->lengths[i]; n; n--, s++)
            if (s->number >= 0 && grads[s->number] != Py_None)
                given[i] = any = true;
    return any;
}

/* Marshal the arguments of the backward entry: kept values, gradients, flags, weights. */
static int take_arguments(frame *f, record *r, PyObject *const *grads, const char *given)
{
    const plan *p = r->plan;
    const variant *v = p->backward;
    arrived from = {r->slots, r->sizes, grads};
    for (int i = 0; i < v->n_params; i++, f->n_args++) {
        const node *n = &v->params[i].spec;
        sc_value *out = &f->args[f->n_args];
        int gradient = i - p->n_kept, flag = gradient - p->outputs->n, weight = flag - p->n_flags;
        int kept = gradient < 0 ? i : weight >= 0 ? p->n_kept + weight : -1, status = 0;
        f->naming = v->params[i].name;
        *out = (sc_value){0};
        if (kept >= 0 && r->at[kept] < 0)
            *out = r->values[kept];
        else if (kept >= 0)
            status = n->kind == N_TENSOR ? take_watched(f, n, r->watched, r->at[kept], out)
                                         : take_tensors(f, n, r->count[kept], take_watched, r->watched + r->at[kept], out);
        else if (flag >= 0)
            out->b = given[p->flags[flag]];
        else if (r->lengths[gradient] < 0)
            status = take_gradient(f, n, &from, 0, out), from.slots++;
        else
            status = take_tensors(f, n, r->lengths[gradient], take_gradient, &from, out), from.slots += r->lengths[gradient];
        if (status < 0)
            return -1;
    }
    return 0;
}

/* Return whether the gradient of an output reaches an input. */
static bool reaches(const record *r, int output, int input)
{
    const plan *p = r->plan;
    const int bit = p->bits[input];
    if (!PyBytes_AsString(p->reaches)[output * p->n_inputs + input])
        return false;
    return bit < 0 || r->values[p->n_kept + bit / 64 * p->outputs->n + output].i >> bit % 64 & 1;
}

/* Return the gradients as autograd wants them: None for the record, then one for each source, None where none arrives. */
static PyObject *by_source(const record *r, PyObject *made, const char *given)
{
    const plan *p = r->plan;
    const char *arrives = PyBytes_AsString(p->arrives);
    Py_ssize_t n = 1, next = 0;
    for (int i = 0; i < p->n_inputs; i++)
        n += r->sources[i];
    PyObject *all = PyTuple_New(n);
    if (!all)
        return NULL;
    tuple_fill(all, 0, Py_NewRef(Py_None));
    n = 1;
    for (int i = 0; i < p->n_inputs; i++) {
        PyObject *gradient = made && arrives[i] ? tuple_item(made, next++) : Py_None;
        bool reached = false;
        for (int k = 0; k < p->outputs->n && !reached; k++)
            reached = given[k] && reaches(r, k, i);
        gradient = reached ? gradient : Py_None;
        bool in_list = p->lists[i] && gradient != Py_None;
        for (int k = 0; k < r->sources[i]; k++)
            tuple_fill(all, n++, Py_NewRef(in_list ? item_at(gradient, k) : gradient));
    }
    return all;
}

static int refuse_backward(record *r, Py_ssize_t n)
{
    const host *h = &bridge_of(r)->host;
    while (r->running) {
        Py_BEGIN_ALLOW_THREADS
        sched_yield();
        Py_END_ALLOW_THREADS
    }
    if (host_grad_enabled(h) || r->freed || n != r->n_outputs) {
        PyObject *never = PyObject_CallFunction(h->refuse_backward, "i", (int)r->freed);
        Py_XDECREF(never);
        return -1;
    }
    for (int i = 0; i < r->n_watched; i++) {
        const watched *w = &r->watched[i];
        if (w->version != NO_VERSION && tensor_version(h, w->tensor) != w->version) {
            PyObject *never = PyObject_CallFunction(h->refuse_version, "OL", w->tensor, (long long)w->version);
            Py_XDECREF(never);
            return -1;
        }
    }
    return host_refuses_mode(h);
}

static int append_number(PyObject *list, int number)
{
    PyObject *item = PyLong_FromLong(number);
    int status = item ? PyList_Append(list, item) : -1;
    Py_XDECREF(item);
    return status;
}

/* Run the backward entry. given: for each output, whether its gradient is. */
static PyObject *run_backward(record *r, PyObject *const *grads, const char *given, bool keeps)
{
    const plan *p = r->plan;
    bridge *b = bridge_of(r);
    frame *f = frame_acquire(b);
    if (!f)
        return NULL;
    Py_INCREF((PyObject *)b); /* other threads may free it while the entry runs */
    f->lent = b->host.api && b->host.api->borrow_from_object && is_short(p->backward);
    f->n_slots = p->backward->n_params;
    r->running = true;
    record_give_back(r, f->cx, true);
    PyObject *made = frame_fit(f, p->backward) == 0 && take_arguments(f, r, grads, given) == 0 ? execute(f, p->backward) : NULL;
    record_take_kept(r, f->cx);
    r->freed = made && !keeps && !host_keeps_graph(&b->host);
    if (r->freed)
        record_give_back(r, f->cx, false);
    frame_release(f);
    Py_DECREF((PyObject *)b);
    r->running = false;
    if (r->freed)
        record_unwatch(r);
    return made;
}

static PyObject *backward(record *r, PyObject *const *grads, Py_ssize_t n, bool keeps)
{
    if (refuse_backward(r, n) < 0)
        return NULL;
    char *given = PyMem_Calloc((size_t)r->plan->outputs->n + 1, 1);
    if (!given)
        return PyErr_NoMemory();
    bool runs = note_given(r, grads, given);
    PyObject *made = runs ? run_backward(r, grads, given, keeps) : NULL;
    PyObject *all = made || !runs ? by_source(r, made, given) : NULL;
    Py_XDECREF(made);
    PyMem_Free(given);
    return all;
}

PyObject *record_backward(PyObject *self, PyObject *const *grads, Py_ssize_t n)
{
    return backward((record *)self, grads, n, false);
}

PyObject *record_backward_kept(PyObject *self, PyObject *const *grads, Py_ssize_t n)
{
    return backward((record *)self, grads, n, true);
}

/* Return for each tensor that autograd sees the output that has it, and for each source the input that has it. */
PyObject *record_places(PyObject *self, PyObject *Py_UNUSED(none))
{
    const record *r = (record *)self;
    const slot *s = r->slots;
    PyObject *outputs = PyList_New(0), *inputs = PyList_New(0);
    int status = outputs && inputs ? 0 : -1;
    for (int i = 0; status == 0 && i < r->plan->outputs->n; i++)
        for (int n = r->lengths[i] < 0 ? 1 : r->lengths[i]; status == 0 && n; n--, s++)
            if (s->number >= 0)
                status = append_number(outputs, i);
    for (int i = 0; status == 0 && i < r->plan->n_inputs; i++)
        for (int k = 0; status == 0 && k < r->sources[i]; k++)
            status = append_number(inputs, i);
    PyObject *made = status == 0 ? PyList_AsTuple(outputs) : NULL, *given = made ? PyList_AsTuple(inputs) : NULL;
    PyObject *both = given ? PyTuple_Pack(2, made, given) : NULL;
    Py_XDECREF(outputs);
    Py_XDECREF(inputs);
    Py_XDECREF(made);
    Py_XDECREF(given);
    return both;
}
