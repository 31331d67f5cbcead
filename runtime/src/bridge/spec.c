/* spec.c - makes the structs that a call walks. bridge.py lowers a VariantSpec to tuples, from which they are made.
 * Since only bridge.py makes these tuples, PyArg_ParseTuple checks their form well enough. */
#include "bridge.h"

static void node_free(node *n)
{
    if (n->shared)
        return;
    for (int i = 0; i < n->n; i++)
        node_free(&n->child[i]);
    PyMem_Free(n->child);
}

static int tensor_init(node *n, PyObject *data)
{
    int dtype, rank, contiguous;
    PyObject *sizes;
    if (!PyArg_ParseTuple(data, "iipO!", &dtype, &rank, &contiguous, &PyTuple_Type, &sizes))
        return -1;
    if (dtype < 0 || dtype >= SC_NDTYPES || rank < 0 || rank > SC_MAX_RANK || tuple_length(sizes) != rank) {
        PyErr_SetString(PyExc_ValueError, "bad dtype, rank or sizes in a tensor spec");
        return -1;
    }
    n->dtype = (uint8_t)dtype, n->rank = (uint8_t)rank, n->contiguous = contiguous;
    for (int d = 0; d < rank; d++) {
        PyObject *size = tuple_item(sizes, d);
        n->size[d] = size == Py_None ? -1 : PyLong_AsLongLong(size);
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* Return the number of leaves of a value in a container. */
static int item_leaves(const node *n)
{
    int sum = n->kind == N_OPTIONAL && !is_object(n->child);
    if (n->kind != N_TUPLE && n->kind != N_NAMED_TUPLE && n->kind != N_OPTIONAL)
        return n->kind != N_CONSTANT;
    for (int i = 0; i < n->n; i++)
        sum += item_leaves(&n->child[i]);
    return sum;
}

/* Set up the node of an instance. A node inside a node of the same class shares the outer node's children. */
static int class_init(node *n, node **classes)
{
    int number;
    PyObject *cls, *names;
    if (!PyArg_ParseTuple(n->data, "iOO!", &number, &cls, &PyTuple_Type, &names))
        return -1;
    if (number >= MAX_CLASSES)
        return PyErr_SetString(PyExc_ValueError, "objects of too many classes in one value"), -1;
    if (classes[number])
        n->child = classes[number]->child, n->n = (int)tuple_length(names), n->shared = true;
    else
        classes[number] = n;
    return 0;
}

/* Set up a node from (kind, data, children), and add its number of leaves to *leaves. classes: the first node of each
 * class. */
static int subtree_init(node *n, PyObject *source, int *leaves, node **classes)
{
    int kind, below = 0;
    PyObject *children;
    *n = (node){0};
    if (!PyArg_ParseTuple(source, "iOO!", &kind, &n->data, &PyTuple_Type, &children))
        return -1;
    n->kind = (uint8_t)kind;
    n->place = -1;
    if ((kind == N_MAP || kind == N_SET) && !PyArg_ParseTuple(n->data, "SO", &n->key_kind, &n->data))
        return -1;
    if (kind == N_PLACE)
        n->place = (int)PyLong_AsLong(n->data);
    if (kind == N_TENSOR && tensor_init(n, n->data) < 0)
        return -1;
    if (kind == N_INSTANCE) {
        if (class_init(n, classes) < 0)
            return -1;
        if (n->shared)
            return ++*leaves, 0;
    }
    Py_ssize_t count = tuple_length(children);
    if (count && !(n->child = PyMem_Calloc((size_t)count, sizeof *n->child))) {
        PyErr_NoMemory();
        return -1;
    }
    for (; n->n < count; n->n++)
        if (subtree_init(&n->child[n->n], tuple_item(children, n->n), &below, classes) < 0)
            return node_free(n), n->n = 0, n->child = NULL, -1;
    if (kind == N_OPTIONAL)
        n->rank = (uint8_t)item_leaves(n->child);
    bool container = kind == N_LIST || kind == N_MAP || kind == N_SET;
    for (int i = 0; container && i < n->n; i++)
        if (is_boxed(&n->child[i]) && item_leaves(&n->child[i]) > MAX_LEAVES) {
            PyErr_Format(PyExc_ValueError, "a tuple in a container has at most %d items", MAX_LEAVES);
            return -1;
        }
    if (kind == N_MAP && n->n > 1 && is_boxed(&n->child[1]) && !has_objects(&n->child[1]))
        n->in_line = (uint8_t)item_leaves(&n->child[1]);
    *leaves += is_leaf(n) ? 1 : below;
    return 0;
}

static int node_init(node *n, PyObject *source, int *leaves)
{
    node *classes[MAX_CLASSES] = {0};
    return subtree_init(n, source, leaves, classes);
}

static PyObject *or_null(PyObject *o) { return o == Py_None ? NULL : o; }

static int params_init(variant *v, PyObject *params, int *leaves)
{
    if (!(v->params = PyMem_Calloc((size_t)tuple_length(params) + 1, sizeof *v->params)))
        return -1;
    for (; v->n_params < tuple_length(params); v->n_params++) {
        param *p = &v->params[v->n_params];
        PyObject *spec, *fallback;
        int has_default;
        if (!PyArg_ParseTuple(tuple_item(params, v->n_params), "OOpO", &p->name, &spec, &has_default, &fallback) ||
            node_init(&p->spec, spec, leaves) < 0)
            return -1;
        p->fallback = has_default ? fallback : NULL;
    }
    return 0;
}

static int lives_init(variant *v, PyObject *lives, int *leaves)
{
    if (!(v->lives = PyMem_Calloc((size_t)tuple_length(lives) + 1, sizeof *v->lives)))
        return -1;
    for (; v->n_live < tuple_length(lives); v->n_live++) {
        live *l = &v->lives[v->n_live];
        PyObject *spec;
        if (!PyArg_ParseTuple(tuple_item(lives, v->n_live), "OOO", &l->container, &l->key, &spec) ||
            node_init(&l->spec, spec, leaves) < 0)
            return -1;
        l->kind = PyDict_Check(l->container)       ? IN_DICT
                  : PyList_Check(l->container)     ? IN_LIST
                  : PyUnicode_Check(l->key)        ? IN_ATTRIBUTES
                                                   : IN_CELL;
    }
    return 0;
}

static int guards_init(variant *v, PyObject *guards)
{
    if (!(v->guards = PyMem_Calloc((size_t)tuple_length(guards) + 1, sizeof *v->guards)))
        return -1;
    for (; v->n_guards < tuple_length(guards); v->n_guards++) {
        guard *g = &v->guards[v->n_guards];
        int kind, seldom;
        if (!PyArg_ParseTuple(tuple_item(guards, v->n_guards), "iOOOp", &kind, &g->container, &g->key, &g->expected, &seldom))
            return -1;
        g->kind = (uint8_t)kind;
        g->seldom = seldom;
    }
    guards_watch(v->guards, v->n_guards);
    return 0;
}

static int stores_init(variant *v, PyObject *stores)
{
    int leaves = 0;
    if (!(v->stores = PyMem_Calloc((size_t)tuple_length(stores) + 1, sizeof *v->stores)))
        return -1;
    for (; v->n_stores < tuple_length(stores); v->n_stores++) {
        store *s = &v->stores[v->n_stores];
        PyObject *forms;
        if (!PyArg_ParseTuple(tuple_item(stores, v->n_stores), "iOOOOO!", &s->place, &s->owner, &s->key, &s->path, &s->direct,
                              &PyTuple_Type, &forms) ||
            !(s->forms = PyMem_Calloc((size_t)tuple_length(forms) + 1, sizeof *s->forms)))
            return -1;
        s->path = or_null(s->path), s->direct = or_null(s->direct);
        for (; s->n_forms < tuple_length(forms); s->n_forms++)
            if (node_init(&s->forms[s->n_forms], tuple_item(forms, s->n_forms), &leaves) < 0)
                return v->n_stores++, -1;
    }
    return 0;
}

static int variant_init(variant *v, PyObject *source)
{
    unsigned long long program;
    int entry, n_args = 0, n_results = 0;
    PyObject *params, *lives, *guards, *result, *stores, *library; /* library: owned by the tuple, like the others */
    if (!PyArg_ParseTuple(source, "KiO!iO!O!OO!OOO!pppOO", &program, &entry, &PyTuple_Type, &params, &v->n_positional,
                          &PyTuple_Type, &lives, &PyTuple_Type, &guards, &result, &PyTuple_Type, &stores, &v->bind,
                          &v->grad_call, &PyDict_Type, &v->exceptions, &v->random, &v->asks, &v->keeps_bases, &v->cut,
                          &library))
        return -1;
    v->program = (const sc_program *)(uintptr_t)program;
    if (entry < 0 || entry >= v->program->n_entries) {
        PyErr_Format(PyExc_ValueError, "%s has no entry %d", v->program->name, entry);
        return -1;
    }
    v->entry = &v->program->entries[entry];
    v->bind = or_null(v->bind), v->grad_call = or_null(v->grad_call), v->cut = or_null(v->cut);
    if (params_init(v, params, &n_args) < 0 || lives_init(v, lives, &n_args) < 0 || guards_init(v, guards) < 0 ||
        stores_init(v, stores) < 0 || node_init(&v->result, result, &n_results) < 0)
        return PyErr_Occurred() ? -1 : (PyErr_NoMemory(), -1);
    if (v->cut && PyBytes_Size(v->cut) != n_results)
        return PyErr_Occurred() ? -1 : (PyErr_SetString(PyExc_ValueError, "cut has not a byte for each result"), -1);
    if (n_args != v->entry->n_args || n_results != v->entry->n_results) {
        PyErr_Format(PyExc_ValueError, "entry %s has %d arguments and %d results, its specs have %d and %d",
                     v->entry->name, v->entry->n_args, v->entry->n_results, n_args, n_results);
        return -1;
    }
    return 0;
}

variant *variant_new(PyObject *source)
{
    variant *v = PyMem_Calloc(1, sizeof *v);
    if (!v)
        return (variant *)PyErr_NoMemory();
    v->source = Py_NewRef(source);
    v->seconds = 1;
    if (variant_init(v, source) == 0)
        return v;
    variant_free(v);
    return NULL;
}

void variant_free(variant *v)
{
    for (int i = 0; i < v->n_params; i++)
        node_free(&v->params[i].spec);
    for (int i = 0; i < v->n_live; i++)
        node_free(&v->lives[i].spec);
    for (int i = 0; i < v->n_stores; i++) {
        for (int k = 0; k < v->stores[i].n_forms; k++)
            node_free(&v->stores[i].forms[k]);
        PyMem_Free(v->stores[i].forms);
    }
    for (plan *p = v->plans, *next; p; p = next)
        next = p->next, plan_release(p);
    node_free(&v->result);
    PyMem_Free(v->params);
    PyMem_Free(v->lives);
    PyMem_Free(v->stores);
    PyMem_Free(v->guards);
    Py_XDECREF(v->source);
    PyMem_Free(v);
}
