/* bridge.c - the Python type Bridge: an ordered set of variants that one fast builtin chooses from. */
#include "bridge.h"

#include <dlfcn.h>
#include <stdio.h>

static frame *begin(bridge *b) { return host_refuses_mode(&b->host) < 0 ? NULL : frame_acquire(b); }

static void move_to_front(bridge *b, int k)
{
    variant *v = b->variants[k];
    memmove(b->variants + 1, b->variants, (size_t)k * sizeof *b->variants);
    b->variants[0] = v;
}

/* Find the variant that fits, and marshal its arguments in f. Return 1, 0 or -1. */
static int find(bridge *b, frame *f, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, variant **found)
{
    for (int k = 0; k < b->n_variants; k++) {
        variant *v = b->variants[k];
        if (!guards_hold(&b->host, v))
            continue;
        int r = match_call(f, v, args, nargs, kwnames);
        if (r > 0) {
            if (k)
                move_to_front(b, k);
            *found = v;
        }
        if (r)
            return r;
        frame_reset(f, true);
    }
    return 0;
}

/* Ask for a variant. Return 0 if there is one, -1 if an exception was raised, and 1 if `result` is that of the call. */
static int miss(bridge *b, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject **result)
{
    bool instead = false;
    PyObject *tuple, *dict, *done = NULL;
    if (call_objects(args, nargs, kwnames, &tuple, &dict) == 0)
        done = PyObject_CallFunctionObjArgs(b->on_miss, tuple, dict, NULL);
    if (done && PyExceptionInstance_Check(done)) { /* raised here, so that its traceback has no frame of on_miss */
        PyErr_SetObject((PyObject *)Py_TYPE(done), done);
        Py_CLEAR(done);
    } else if (done && PyCallable_Check(done)) { /* run in place of a variant */
        instead = true;
        *result = PyObject_Call(done, tuple, dict);
    }
    Py_XDECREF(tuple);
    Py_XDECREF(dict);
    Py_XDECREF(done);
    return done ? instead : -1;
}

/* Return whether a tensor of the call requires grad. */
static bool requires_grad(const frame *f, const held *h)
{
    return h->tensor->dtype >= SC_F16 && tensor_requires_grad(&f->owner->host, h->object);
}

/* Return whether eager autograd would record this call, and note which tensors require grad. */
static bool needs_grad(const frame *f, const variant *v)
{
    bool needs = false;
    if (!v->grad_call || !host_grad_enabled(&f->owner->host))
        return false;
    for (int i = 0; i < f->n_held; i++)
        needs |= f->held[i].requires_grad = requires_grad(f, &f->held[i]);
    return needs;
}

/* Mark the tensors that require grad, for an entry that asks, in a call that autograd does not record. */
static void mark_unrecorded(frame *f)
{
    for (int i = 0; i < f->n_held; i++)
        if (requires_grad(f, &f->held[i]))
            f->held[i].tensor->leaf = SC_UNRECORDED;
}

static PyObject *call_with_grad(bridge *b, const variant *v, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    PyObject *tuple, *dict, *run = PyObject_GetAttrString((PyObject *)b, "run_nograd"), *result = NULL;
    if (call_objects(args, nargs, kwnames, &tuple, &dict) == 0 && run)
        result = PyObject_CallFunctionObjArgs(v->grad_call, run, tuple, dict, NULL);
    Py_XDECREF(run);
    Py_XDECREF(tuple);
    Py_XDECREF(dict);
    return result;
}

/* Mark the tensors that autograd protects from in-place writes. */
static int mark_leaves(frame *f)
{
    for (int i = 0; i < f->n_held; i++) {
        PyObject *kind = call_one(f->owner->host.leaf_kind, f->held[i].object);
        if (!kind)
            return -1;
        f->held[i].tensor->leaf = (uint8_t)PyLong_AsLong(kind);
        Py_DECREF(kind);
    }
    return 0;
}

static PyObject *run(bridge *b, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, bool with_grad)
{
    variant *v = NULL;
    PyObject *result = NULL;
    frame *f = begin(b);
    if (!f)
        return NULL;
    int r = find(b, f, args, nargs, kwnames, &v);
    if (r == 0) {
        frame_release(f); /* on_miss may call this function itself */
        if (miss(b, args, nargs, kwnames, &result) != 0 || !(f = frame_acquire(b)))
            return result;
        r = find(b, f, args, nargs, kwnames, &v);
        if (r == 0)
            PyErr_SetString(PyExc_RuntimeError, "internal scriptc error: what was compiled for this call does not fit it");
    }
    if (r > 0 && with_grad && needs_grad(f, v)) {
        plan *p = plan_for(f, v);
        if (p)
            return record_call(f, v, p);
        frame_release(f);
        return call_with_grad(b, v, args, nargs, kwnames);
    }
    if (r > 0 && with_grad && v->asks)
        mark_unrecorded(f);
    if (r > 0 && (with_grad || mark_leaves(f) == 0))
        result = execute(f, v);
    frame_release(f);
    return result;
}

static PyObject *bridge_call(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return run((bridge *)self, args, nargs, kwnames, true);
}

static PyObject *bridge_run_nograd(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return run((bridge *)self, args, nargs, kwnames, false);
}

/* Return whether a variant accepts these arguments, without running the variant. */
static PyObject *bridge_fits(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    bridge *b = (bridge *)self;
    variant *v = NULL;
    frame *f = begin(b);
    if (!f)
        return NULL;
    int r = find(b, f, args, nargs, kwnames, &v);
    frame_release(f);
    return r < 0 ? NULL : PyBool_FromLong(r);
}

static PyObject *bridge_add_variant(PyObject *self, PyObject *source)
{
    bridge *b = (bridge *)self;
    variant **bigger = PyMem_Realloc(b->variants, ((size_t)b->n_variants + 1) * sizeof *bigger);
    if (!bigger)
        return PyErr_NoMemory();
    b->variants = bigger;
    variant *v = variant_new(source);
    if (!v)
        return NULL;
    b->variants[b->n_variants++] = v;
    move_to_front(b, b->n_variants - 1); /* the next call is the one that missed */
    Py_RETURN_NONE;
}

/* Add a plan to the variant with this grad_call. */
static PyObject *bridge_add_plan(PyObject *self, PyObject *args)
{
    bridge *b = (bridge *)self;
    PyObject *grad_call, *source;
    if (!PyArg_ParseTuple(args, "OO!", &grad_call, &PyTuple_Type, &source))
        return NULL;
    for (int k = 0; k < b->n_variants; k++) {
        variant *v = b->variants[k];
        if (v->grad_call != grad_call)
            continue;
        plan *p = plan_new(source);
        if (!p)
            return NULL;
        p->owner = b, p->next = v->plans, v->plans = p;
        break;
    }
    Py_RETURN_NONE;
}

/* Replace all contexts by ones with the counting allocator. Its allocation number `fail_at` fails (0: none does). */
static PyObject *bridge_count_allocations(PyObject *self, PyObject *fail_at)
{
    bridge *b = (bridge *)self;
    long n = PyLong_AsLong(fail_at);
    if (n == -1 && PyErr_Occurred())
        return NULL;
    frames_drop(b);
    b->counters->counting = true;
    atomic_store(&b->counters->fail_at, n);
    Py_RETURN_NONE;
}

static PyObject *bridge_counts(PyObject *self, PyObject *Py_UNUSED(none))
{
    bridge *b = (bridge *)self;
    const counters *c = b->counters;
    long long live = 0, cached = 0;
    for (const frame *f = b->idle; f; f = f->next) {
        live += sc_ctx_count_live(f->cx);
        cached += (long long)f->cx->bytes_cached;
    }
    return Py_BuildValue("{s:L,s:L,s:l,s:l,s:l}", "objects", live, "cached", cached,
                         "exported", atomic_load(&c->exported), "blocks", atomic_load(&c->blocks),
                         "allocations", atomic_load(&c->allocations));
}

static PyObject *get_seconds(PyObject *self, void *Py_UNUSED(closure))
{
    return PyFloat_FromDouble(((bridge *)self)->seconds);
}

static PyObject *get_peak(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromSize_t(((bridge *)self)->peak);
}

static PyObject *get_asked(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromSize_t(((bridge *)self)->asked);
}

/* ---- the type ---- */

static PyObject *bridge_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    PyObject *namespace, *on_miss;
    unsigned long long team;
    if (!PyArg_ParseTuple(args, "OOK", &namespace, &on_miss, &team))
        return NULL;
    bridge *b = (bridge *)PyType_GenericAlloc(type, 0);
    if (!b)
        return NULL;
    b->on_miss = Py_NewRef(on_miss);
    b->team = (sc_team *)(uintptr_t)team;
    b->counters = counters_new();
    if (!b->counters)
        PyErr_NoMemory();
    else if (host_load(&b->host, namespace) == 0)
        return (PyObject *)b;
    Py_DECREF(b);
    return NULL;
}

static int bridge_traverse(PyObject *self, visitproc visit, void *arg)
{
    bridge *b = (bridge *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(b->on_miss);
    for (int i = 0; i < b->n_variants; i++)
        Py_VISIT(b->variants[i]->source);
    for (int i = 0; i < b->n_variants; i++)
        for (const plan *p = b->variants[i]->plans; p; p = p->next)
            Py_VISIT(p->source);
    return host_traverse(&b->host, visit, arg);
}

static int bridge_clear(PyObject *self)
{
    bridge *b = (bridge *)self;
    for (int i = 0; i < b->n_variants; i++) /* first, since what follows may free records */
        for (plan *p = b->variants[i]->plans; p; p = p->next)
            p->owner = NULL;
    frames_drop(b); /* no call is running; contexts are freed before the libraries whose code frees their contents */
    Py_CLEAR(b->on_miss);
    while (b->n_variants)
        variant_free(b->variants[--b->n_variants]);
    host_clear(&b->host);
    return 0;
}

static void bridge_dealloc(PyObject *self)
{
    bridge *b = (bridge *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    bridge_clear(self);
    profile_free(b->profile);
    PyMem_Free(b->variants);
    if (b->counters)
        counters_release(b->counters);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

#define FAST (METH_FASTCALL | METH_KEYWORDS)
static PyMethodDef methods[] = {
    {"call", (PyCFunction)(void (*)(void))bridge_call, FAST, "Run the compiled function."},
    {"run_nograd", (PyCFunction)(void (*)(void))bridge_run_nograd, FAST, "Run it without asking for autograd."},
    {"fits", (PyCFunction)(void (*)(void))bridge_fits, FAST, "Whether a variant takes such a call."},
    {"add_variant", bridge_add_variant, METH_O, "Add a lowered variant; it is tried first."},
    {"add_plan", bridge_add_plan, METH_VARARGS, "Add a plan for calls that autograd records; it is tried first."},
    {"count_allocations", bridge_count_allocations, METH_O, "Count allocations, and fail the n-th."},
    {"counts", bridge_counts, METH_NOARGS, "What is alive, allocated and handed out."},
    {"profile_start", bridge_profile_start, METH_VARARGS, "Count in the sites of instrumented code, and note events."},
    {"profile_stop", bridge_profile_stop, METH_NOARGS, "What was counted: (sites, events, events that found no room)."},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef getset[] = {
    {"last_call_seconds", get_seconds, NULL, "Time inside the C of the last call.", NULL},
    {"peak_bytes", get_peak, NULL, "Most bytes of blocks in use at once in the last call.", NULL},
    {"asked_bytes", get_asked, NULL, "Most bytes that tensors needed at once in the last call.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
__extension__ static PyType_Slot slots[] = { /* a PyType_Slot holds functions as void * */
    {Py_tp_new, bridge_new},           {Py_tp_dealloc, bridge_dealloc}, {Py_tp_traverse, bridge_traverse},
    {Py_tp_clear, bridge_clear},       {Py_tp_methods, methods},        {Py_tp_getset, getset},
    {0, NULL}};
static PyType_Spec spec = {"scriptc.runtime._bridge.Bridge", sizeof(bridge), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

/* ---- what cffi exposes ---- */

/* Return the team of the process, with OpenMP's threads if torch's operators run on them (`openmp`). */
void *sc_bridge_team(int openmp)
{
    sc_team *team = sc_team_new();
    if (team && openmp)
        sc_team_borrow(team, openmp_lender());
    return team;
}

/* Return how many bytes of the running thread's stack are free. */
size_t sc_bridge_stack_left(void)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), end = sc_stack_end(here, 0);
    return here > end ? here - end : 0;
}

void *sc_bridge_type(void)
{
    PyGILState_STATE gil = PyGILState_Ensure(); /* cffi released it */
    PyObject *type = python_inspect() < 0 || record_type_init() < 0 ? NULL : PyType_FromSpec(&spec);
    if (!type)
        PyErr_Clear();
    PyGILState_Release(gil);
    return type;
}

void sc_bridge_close(void *library)
{
    if (library)
        dlclose(library);
}

/* Load a compiled library, which sc_bridge_close unloads. On failure, return NULL and write the reason to `error`. */
const void *sc_bridge_open(const char *path, void **library, char *error, int room)
{
    const sc_program *(*get)(void) = NULL;
    if ((*library = dlopen(path, RTLD_NOW | RTLD_LOCAL)))
        *(void **)&get = dlsym(*library, "sc_program_get");
    const sc_program *program = get ? get() : NULL;
    if (program && program->abi == SC_ABI_VERSION)
        return program;
    if (program)
        snprintf(error, (size_t)room, "%s has ABI %d, this is %d", path, program->abi, SC_ABI_VERSION);
    else
        snprintf(error, (size_t)room, "%s", dlerror());
    sc_bridge_close(*library);
    return NULL;
}
