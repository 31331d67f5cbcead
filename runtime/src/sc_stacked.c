/* sc_stacked.c - what a loop appends to a list that is only joined afterward: each tensor is computed in its place in the result,
 * or copied there while it is in cache, and its own memory is free for the next. Where tensors turn out to differ, or eager's result
 * would not be contiguous, it is a list after all, and joining that gives eager's result or error. */
#include "sc_internal.h"

/* The object is a list of the result and of the list that replaces it. After its last item follows the number of
 * tensors put. */
enum { STACKED_RESULT, STACKED_ITEMS, STACKED_HELD, STACKED_COUNT = STACKED_HELD, STACKED_SLOTS };

SC_KERNEL sc_list *sc_stacked_new(sc_ctx *cx) {
    sc_list *s = sc_list_new(cx, SC_OBJECTS, STACKED_SLOTS);
    if (!s) return NULL;
    s->items[STACKED_RESULT].t = NULL, s->items[STACKED_ITEMS].l = NULL, s->items[STACKED_COUNT].i = 0;
    s->len = STACKED_HELD;
    return s;
}

/* Write the sizes of the result for `total` tensors like x. */
static int joined_sizes(const sc_tensor *x, int64_t total, int64_t dim, bool stack, int64_t *size) {
    for (int d = 0; d < x->rank; d++) size[d + (stack && d >= dim)] = x->size[d];
    size[dim] = stack ? total : x->size[dim] * total;
    return x->rank + stack;
}

/* Return whether eager's result is contiguous, so that the first tensor may be copied into it. */
static bool joins_plainly(const sc_tensor *x, int64_t dim, bool stack) {
    if (x->rank + stack > SC_MAX_RANK || dim >= x->rank + stack || x->numel == 0 || !sc_is_contiguous(x)) return false;
    return !sc_is_channels_last(x) && !(stack && dim == 3 && x->rank == 3);
}

/* Return whether a tensor has the form of those before it. */
static bool is_alike(const sc_tensor *x, const sc_tensor *out, int64_t total, int64_t dim, bool stack) {
    if (x->rank + stack != out->rank) return false;
    int64_t step = 1;
    for (int d = x->rank; d-- > 0; step = sc_wrapped_product(step, x->size[d])) {
        int64_t size = !stack && d == dim ? x->size[d] * total : x->size[d];
        if (out->size[d + (stack && d >= dim)] != size || (x->stride[d] != step && x->size[d] != 1)) return false;
    }
    return true;
}

static void put_part(const sc_tensor *x, const sc_tensor *out, int64_t at, int64_t total, int64_t dim) {
    size_t inner = sc_dtype_size(x->dtype);
    int64_t outer = 1;
    for (int d = 0; d < x->rank; d++)
        if (d < dim) outer = sc_wrapped_product(outer, x->size[d]);
        else inner *= (size_t)x->size[d];
    if (x->data == (char *)out->data + (size_t)at * inner) return; /* sc_stacked_place */
    for (int64_t i = 0; i < outer; i++)
        memcpy((char *)out->data + (size_t)(i * total + at) * inner, (const char *)x->data + (size_t)i * inner, inner);
}

SC_KERNEL sc_tensor *sc_stacked_place(sc_ctx *cx, const sc_list *s, int64_t total, int dtype, const int64_t *size, int rank) {
    const sc_tensor *out = s->items[STACKED_RESULT].t;
    if (!out || s->items[STACKED_ITEMS].l || out->rank != rank + 1 || out->size[0] != total) return sc_empty(cx, dtype, rank, size);
    for (int d = 0; d < rank; d++)
        if (out->size[d + 1] != size[d]) return sc_empty(cx, dtype, rank, size);
    return sc_view_of(cx, out, s->items[STACKED_COUNT].i * out->stride[0], rank, size, out->stride + 1);
}

/* Make the list of the tensors put so far. */
static int fall_back(sc_ctx *cx, sc_list *s, int64_t total, int64_t dim, bool stack) {
    sc_tensor *out = s->items[STACKED_RESULT].t;
    sc_list *items = s->items[STACKED_ITEMS].l = sc_list_new(cx, SC_OBJECTS, 0);
    if (!items) return -1;
    int64_t each = out && !stack ? out->size[dim] / total : 0;
    for (int64_t i = 0; out && i < s->items[STACKED_COUNT].i; i++) {
        sc_tensor *part = stack ? sc_select(cx, out, dim, i) : sc_narrow(cx, out, dim, i * each, each);
        if (!part || sc_list_append(cx, items, SC_OBJECTS, (sc_value){.t = part}) < 0) return -1;
        sc_release(cx, part);
    }
    sc_release(cx, out);
    s->items[STACKED_RESULT].t = NULL;
    return 0;
}

SC_KERNEL int sc_stacked_put(sc_ctx *cx, sc_list *s, sc_tensor *x, int64_t total, int64_t dim, bool stack) {
    sc_tensor *out = s->items[STACKED_RESULT].t;
    int64_t at = s->items[STACKED_COUNT].i++;
    if (!s->items[STACKED_ITEMS].l && (out ? is_alike(x, out, total, dim, stack) : joins_plainly(x, dim, stack))) {
        if (!out) {
            int64_t size[SC_MAX_RANK + 1];
            int rank = joined_sizes(x, total, dim, stack, size);
            if (!(out = s->items[STACKED_RESULT].t = sc_empty(cx, x->dtype, rank, size))) return -1;
        }
        put_part(x, out, at, total, dim);
        return 0;
    }
    s->items[STACKED_COUNT].i = at;
    if (!s->items[STACKED_ITEMS].l && fall_back(cx, s, total, dim, stack) < 0) return -1;
    return sc_list_append(cx, s->items[STACKED_ITEMS].l, SC_OBJECTS, (sc_value){.t = x});
}

SC_KERNEL sc_tensor *sc_stacked_join(sc_ctx *cx, sc_list *s, int64_t dim, bool stack, int dtype) {
    sc_tensor *out = s->items[STACKED_RESULT].t;
    if (out) {
        sc_retain(out);
        return out;
    }
    if (!s->items[STACKED_ITEMS].l && fall_back(cx, s, 0, dim, stack) < 0) return NULL;
    return stack ? sc_stack(cx, s->items[STACKED_ITEMS].l, dim, dtype) : sc_cat(cx, s->items[STACKED_ITEMS].l, dim, dtype);
}
