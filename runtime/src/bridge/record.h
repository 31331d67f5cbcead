/* record.h - a record of a call that autograd records (record.c), as its backward (record_backward.c) sees it. */
#ifndef SC_BRIDGE_RECORD_H
#define SC_BRIDGE_RECORD_H
#include "bridge.h"

typedef struct watched { /* a tensor that backward reads; version: the one that it must still have, or NO_VERSION */
    PyObject *tensor;
    int64_t version;
} watched;

typedef struct slot { /* where backward finds the gradient of an output: its number, or -1; else zeros of this layout */
    int number, dtype, rank, first_size; /* first_size: in `sizes` of the record */
} slot;

typedef struct record {
    PyObject_HEAD
    plan *plan;
    PyObject *source;       /* the plan's, held here too, so that the collector sees who does */
    sc_obj kept;            /* sentinel of the list of objects that forward kept, while no context has them */
    size_t bytes, asked;    /* of the storages among them */
    sc_value *values;       /* for each kept value of C: the value; then the numbers with bits of inputs */
    int *at, *count;        /* for each kept value and weight: its first watched tensor, and their number; at -1: in `values` */
    int *lengths;           /* for each gradient that backward takes: the number of items of a list, or -1 */
    int *sources;           /* for each input: the number of its tensors */
    watched *watched;
    slot *slots;
    int64_t *sizes;         /* of zeros that stand for gradients */
    PyObject *outputs;      /* tuple, until autograd has it */
    int n_watched, cap_watched, n_slots, cap_slots, n_sizes, cap_sizes, n_outputs;
    bool freed, running;
} record;

/* Return the bridge in whose contexts backward runs, which has no other references of the record. */
static inline bridge *bridge_of(const record *r) { return r->plan->owner ? r->plan->owner : (bridge *)r->plan->home; }

/* record.c */
void record_give_back(record *r, sc_ctx *cx, bool lends); /* lets a context have what the record keeps, to free or to lend it */
void record_take_kept(record *r, sc_ctx *cx); /* takes the kept values out of a context, which may then free all else */
void record_unwatch(record *r);

/* record_backward.c: methods of the type */
PyObject *record_backward(PyObject *self, PyObject *const *grads, Py_ssize_t n);
PyObject *record_backward_kept(PyObject *self, PyObject *const *grads, Py_ssize_t n);
PyObject *record_places(PyObject *self, PyObject *none);
PyObject *item_at(PyObject *sequence, Py_ssize_t i); /* of a list or a tuple, borrowed */

#endif
