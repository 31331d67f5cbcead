/* profile.c - counts the calls of instrumented code, and gives the counts to Python. */
#include "sc_profile.h"
#include "bridge.h"

void profile_free(sc_profile *p)
{
    if (p) {
        free(p->sites);
        free(p->events);
        free(p);
    }
}

PyObject *bridge_profile_start(PyObject *self, PyObject *args)
{
    bridge *b = (bridge *)self;
    int sites;
    long long room;
    if (!PyArg_ParseTuple(args, "iL", &sites, &room))
        return NULL;
    sc_profile *p = calloc(1, sizeof *p);
    if (p) {
        *p = (sc_profile){.n_sites = sites, .at = -1, .room = room};
        p->sites = calloc((size_t)sites + 1, sizeof *p->sites);
        p->events = calloc((size_t)room + 1, sizeof *p->events);
    }
    if (!p || !p->sites || !p->events) {
        profile_free(p);
        return PyErr_NoMemory();
    }
    profile_free(b->profile);
    b->profile = p;
    Py_RETURN_NONE;
}

/* Return the list of f(p, 0), f(p, 1), ... */
static PyObject *listed(const sc_profile *p, int64_t n, PyObject *(*f)(const sc_profile *, int64_t))
{
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (int64_t i = 0; list && i < n; i++) {
        PyObject *item = f(p, i);
        if (item)
            list_fill(list, (Py_ssize_t)i, item);
        else
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *site_row(const sc_profile *p, int64_t i)
{
    const sc_site *s = &p->sites[i];
    return Py_BuildValue("(LLdd)", (long long)s->visits, (long long)s->ns, s->flops, s->bytes);
}

static PyObject *event_row(const sc_profile *p, int64_t i)
{
    const sc_event *e = &p->events[i];
    return Py_BuildValue("(iLL)", (int)e->site, (long long)e->begin, (long long)e->end);
}

PyObject *bridge_profile_stop(PyObject *self, PyObject *Py_UNUSED(none))
{
    bridge *b = (bridge *)self;
    sc_profile *p = b->profile;
    if (!p)
        return PyErr_Format(PyExc_RuntimeError, "profile_start was not called");
    b->profile = NULL;
    PyObject *sites = listed(p, p->n_sites, site_row), *events = listed(p, p->n_events, event_row), *result = NULL;
    if (sites && events)
        result = Py_BuildValue("(OOL)", sites, events, (long long)p->missed);
    Py_XDECREF(sites);
    Py_XDECREF(events);
    profile_free(p);
    return result;
}
