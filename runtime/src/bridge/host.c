/* host.c - the objects of torch that every call reads. */
#include "bridge.h"

#include <stddef.h>

static const struct { const char *name; size_t at; } fields[] = {
#define FIELD(name) {#name, offsetof(host, name)}
    FIELD(tensor_type), FIELD(parameter_type), FIELD(function_modes), FIELD(dispatch_modes),
    FIELD(grad_enabled), FIELD(num_threads), FIELD(default_dtype), FIELD(forward_ad), FIELD(forward_ad_key),
    FIELD(requires_grad_key), FIELD(refuse_tensor), FIELD(refuse_mode), FIELD(view), FIELD(new_flat), FIELD(describe),
    FIELD(bump), FIELD(make_exception), FIELD(place_exception), FIELD(warn), FIELD(print), FIELD(why_refused),
    FIELD(random_begin), FIELD(random_end), FIELD(python_word), FIELD(leaf_kind),
    FIELD(numpy_begin), FIELD(numpy_end), FIELD(saved_hooks), FIELD(transforms), FIELD(keeps_graph),
    FIELD(refuse_backward), FIELD(refuse_version), FIELD(version_key),
#undef FIELD
};
enum { N_FIELDS = sizeof fields / sizeof fields[0] };

static PyObject **field(host *h, int i) { return (PyObject **)((char *)h + fields[i].at); }

int host_load(host *h, PyObject *namespace)
{
    for (int i = 0; i < N_FIELDS; i++)
        if (!(*field(h, i) = PyObject_GetAttrString(namespace, fields[i].name)))
            return -1;
    PyObject *api = PyObject_GetAttrString(namespace, "api"), *keys = PyObject_GetAttrString(namespace, "keys");
    unsigned long long usual = 0;
    int ok = api && keys && PyArg_ParseTuple(keys, "nnKnnnn", &h->impl_at, &h->keys_at, &usual, &h->offset_at,
                                             &h->autograd_at, &h->counter_at, &h->version_at);
    h->usual_keys = usual;
    if (ok && api != Py_None)
        ok = (h->api = PyCapsule_GetPointer(api, "dlpack_exchange_api")) != NULL;
    while (h->api && h->api->version.major > SC_DL_MAJOR)
        h->api = h->api->older;
    Py_XDECREF(api); /* the table lives as long as the process */
    Py_XDECREF(keys);
    return ok ? 0 : -1;
}

int host_traverse(host *h, visitproc visit, void *arg)
{
    for (int i = 0; i < N_FIELDS; i++)
        Py_VISIT(*field(h, i));
    return 0;
}

void host_clear(host *h)
{
    for (int i = 0; i < N_FIELDS; i++)
        Py_CLEAR(*field(h, i));
}

/* Return whether f() is true, or -1 with an exception set. */
static int ask(PyObject *f)
{
    PyObject *answer = PyObject_CallNoArgs(f);
    if (!answer)
        return -1;
    int truth = answer == Py_False ? 0 : answer == Py_True ? 1 : PyObject_IsTrue(answer);
    Py_DECREF(answer);
    return truth;
}

static bool forward_ad_active(const host *h)
{
    PyObject *level = PyDict_GetItemWithError(h->forward_ad, h->forward_ad_key);
    return level && PyLong_CheckExact(level) && PyLong_AsLong(level) >= 0;
}

int host_refuses_mode(const host *h)
{
    if (ask(h->function_modes) == 0 && ask(h->dispatch_modes) == 0 && !forward_ad_active(h))
        return 0;
    PyErr_Clear();
    PyObject *done = PyObject_CallNoArgs(h->refuse_mode); /* raises if the active mode is not supported */
    Py_XDECREF(done);
    return done ? 0 : -1;
}

bool host_grad_enabled(const host *h) { return ask(h->grad_enabled) == 1; }

bool host_saves_plainly(const host *h)
{
    PyObject *hooks = call_one(h->saved_hooks, Py_False);
    Py_XDECREF(hooks);
    bool plain = hooks == Py_None && ask(h->transforms) == 0;
    PyErr_Clear();
    return plain;
}

bool host_keeps_graph(const host *h)
{
    bool keeps = ask(h->keeps_graph) != 0; /* also if torch cannot tell */
    PyErr_Clear();
    return keeps;
}
