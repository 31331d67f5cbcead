/* frame.c - frames: a context with the marshalled values of one call. A bridge keeps idle ones, so that calls do not
 * allocate; several threads may be in calls at once, each with a frame of its own. */
#include "bridge.h"
#include "sc_signal.h"

int grow(void *array, int *capacity, int wanted, size_t item)
{
    if (wanted <= *capacity)
        return 0;
    int more = *capacity ? 2 * *capacity : 16;
    if (more < wanted)
        more = wanted;
    void **at = array, *bigger = PyMem_Realloc(*at, (size_t)more * item);
    if (!bigger)
        return PyErr_NoMemory(), -1;
    *at = bigger;
    *capacity = more;
    return 0;
}

counters *counters_new(void)
{
    counters *c = calloc(1, sizeof *c);
    if (c)
        atomic_init(&c->refs, 1);
    return c;
}

void counters_release(counters *c)
{
    if (atomic_fetch_sub(&c->refs, 1) == 1)
        free(c);
}

/* Reallocate a block for tests: count blocks and allocations, and fail at allocation number `fail_at`. */
static void *counting_realloc(void *user, void *block, size_t old, size_t nbytes)
{
    counters *c = user;
    (void)old;
    if (nbytes) {
        atomic_fetch_add(&c->allocations, 1);
        if (atomic_load(&c->fail_at) > 0 && atomic_fetch_sub(&c->fail_at, 1) == 1)
            return NULL;
    }
    void *result = NULL;
    if (nbytes && !(result = realloc(block, nbytes)))
        return NULL;
    if (!nbytes)
        free(block);
    atomic_fetch_add(&c->blocks, (nbytes != 0) - (block != NULL));
    return result;
}

static frame *frame_new(bridge *b)
{
    sc_allocator counting = {counting_realloc, b->counters};
    frame *f = PyMem_Calloc(1, sizeof *f);
    if (!f)
        return (frame *)PyErr_NoMemory();
    f->owner = b;
    if ((f->cx = sc_ctx_new(b->counters->counting ? &counting : NULL)))
        return f;
    PyMem_Free(f);
    return (frame *)PyErr_NoMemory();
}

frame *frame_acquire(bridge *b)
{
    frame *f = b->idle;
    if (f)
        b->idle = f->next;
    else if (!(f = frame_new(b)))
        return NULL;
    const sc_dl_exchange *api = b->host.api;
    f->lent = api && api->borrow_from_object && b->n_variants && is_short(b->variants[0]);
    return f;
}

/* Release the values and references that matching or a call left. keep_taken: keep tensors for the next variant of the
 * same call. */
void frame_reset(frame *f, bool keep_taken)
{
    sc_ctx_unwind(f->cx);
    f->n_args = f->n_held = f->n_places = 0;
    f->deepest = 0;
    f->has_aliases = false;
    for (int i = 0; i < f->n_lists; i++)
        Py_DECREF(f->lists[i].object);
    if (f->n_lists)
        memset(f->buckets, 0, sizeof *f->buckets * (size_t)f->cap_buckets);
    f->n_lists = 0;
    while (f->n_made)
        Py_DECREF(f->made[--f->n_made]);
    Py_CLEAR(f->flat);
    Py_CLEAR(f->stopped);
    while (!keep_taken && f->n_taken)
        tensor_let_go(&f->held[--f->n_taken]);
}

void frame_release(frame *f)
{
    frame_reset(f, false);
    if (f->cx->bytes_cached > f->cx->bytes_peak) /* keep at most the peak of the last call */
        sc_ctx_trim(f->cx, f->cx->bytes_peak);
    f->next = f->owner->idle;
    f->owner->idle = f;
}

void frames_drop(bridge *b)
{
    sc_sigint_settle();
    for (frame *f = b->idle, *next; f; f = next) {
        next = f->next;
        sc_ctx_free(f->cx);
        PyMem_Free(f->args);
        PyMem_Free(f->results);
        PyMem_Free(f->slots);
        PyMem_Free(f->held);
        PyMem_Free(f->lists);
        PyMem_Free(f->made);
        PyMem_Free(f->buckets);
        PyMem_Free(f->places);
        PyMem_Free(f);
    }
    b->idle = NULL;
}

int frame_fit(frame *f, const variant *v)
{
    int values = v->entry->n_args > v->entry->n_results ? v->entry->n_args : v->entry->n_results, had = f->cap_values;
    if (grow(&f->results, &had, values + 1, sizeof *f->results) < 0 ||
        grow(&f->args, &f->cap_values, values + 1, sizeof *f->args) < 0)
        return -1;
    return grow(&f->slots, &f->cap_slots, v->n_params + 1, sizeof *f->slots);
}
