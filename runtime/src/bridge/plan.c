/* plan.c - plans of the calls that autograd records: a forward and a backward entry for one set of arguments that require
 * grad. record.c runs them. */
#include "bridge.h"

static int numbers_init(int **out, int *n, PyObject *tuple)
{
    *n = (int)PyTuple_Size(tuple);
    if (*n < 0 || !(*out = PyMem_Calloc((size_t)*n + 1, sizeof **out)))
        return PyErr_Occurred() ? -1 : (PyErr_NoMemory(), -1);
    for (int i = 0; i < *n; i++)
        (*out)[i] = (int)PyLong_AsLong(PyTuple_GetItem(tuple, i));
    return PyErr_Occurred() ? -1 : 0;
}

static int leaves_in(const node *n)
{
    int leaves = is_leaf(n);
    for (int i = 0; !is_leaf(n) && i < n->n; i++)
        leaves += leaves_in(&n->child[i]);
    return leaves;
}

static int plan_init(plan *p, PyObject *source)
{
    PyObject *forward, *backward, *kept_inputs, *inputs, *lists, *flags, *bits;
    int n_inputs, n_bits;
    if (!PyArg_ParseTuple(source, "O!OOO!O!O!O!O!O!O!O!O!pOOO", &PyBytes_Type, &p->required, &forward, &backward, &PyBytes_Type,
                          &p->requires, &PyTuple_Type, &kept_inputs, &PyBytes_Type, &p->reads, &PyTuple_Type, &inputs,
                          &PyBytes_Type, &lists, &PyBytes_Type, &p->arrives, &PyTuple_Type, &flags, &PyBytes_Type,
                          &p->reaches, &PyTuple_Type, &bits, &p->reads_leaves, &p->apply, &p->rebuild, &p->home) ||
        !(p->forward = variant_new(forward)) || !(p->backward = variant_new(backward)) ||
        numbers_init(&p->kept_inputs, &p->n_kept, kept_inputs) < 0 || numbers_init(&p->inputs, &n_inputs, inputs) < 0 ||
        numbers_init(&p->flags, &p->n_flags, flags) < 0 || numbers_init(&p->bits, &n_bits, bits) < 0)
        return -1;
    node *result = &p->forward->result; /* the result of the call, the outputs, the kept values, and numbers */
    p->n_inputs = n_inputs;
    p->n_weights = (int)PyBytes_Size(p->reads);
    p->outputs = &result->child[1], p->kept = &result->child[2];
    p->first_output = leaves_in(&result->child[0]);
    p->first_kept = p->first_output + leaves_in(p->outputs);
    p->first_number = p->first_kept + leaves_in(p->kept), p->n_numbers = result->child[3].n;
    p->lists = PyBytes_AsString(lists);
    result->n = 2; /* kept values become Python objects only if the user may hold them */
    return 0;
}

void plan_release(plan *p)
{
    if (--p->refs)
        return;
    if (p->forward)
        p->forward->result.n = p->kept ? 4 : p->forward->result.n, variant_free(p->forward);
    if (p->backward)
        variant_free(p->backward);
    PyMem_Free(p->kept_inputs);
    PyMem_Free(p->inputs);
    PyMem_Free(p->bits);
    PyMem_Free(p->flags);
    Py_XDECREF(p->source);
    PyMem_Free(p);
}

plan *plan_new(PyObject *source)
{
    plan *p = PyMem_Calloc(1, sizeof *p);
    if (!p)
        return (plan *)PyErr_NoMemory();
    p->source = Py_NewRef(source);
    p->refs = 1;
    if (plan_init(p, source) == 0)
        return p;
    plan_release(p);
    return NULL;
}

plan *plan_for(const frame *f, const variant *v)
{
    const host *h = &f->owner->host;
    for (plan *p = f->has_aliases || f->owner->profile ? NULL : v->plans; p; p = p->next) {
        const char *required = PyBytes_AsString(p->required);
        if (PyBytes_Size(p->required) != f->n_args)
            continue;
        char seen[MOST_ARGUMENTS];
        bool fits = f->n_args <= MOST_ARGUMENTS;
        memset(seen, 0, fits ? (size_t)f->n_args : 0);
        for (int i = 0; fits && i < f->n_held; i++) {
            const held *row = &f->held[i];
            if (row->requires_grad)
                fits = required[row->argument], seen[row->argument] = 1;
        }
        if (fits && memcmp(seen, required, (size_t)f->n_args) == 0)
            return host_saves_plainly(h) ? p : NULL;
    }
    return NULL;
}
