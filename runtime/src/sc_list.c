/* sc_list.c - what Python's lists do beyond append, get and set, which stand in sc_core.c. */
#include "../include/sc_str.h"
#include "sc_internal.h"

SC_KERNEL int sc_list_insert(sc_ctx *cx, sc_list *l, int64_t i, sc_value v) {
    int64_t at = i < 0 ? (i + l->len < 0 ? 0 : i + l->len) : i < l->len ? i : l->len;
    if (sc_list_append(cx, l, v) < 0) return -1;
    memmove(l->items + at + 1, l->items + at, (size_t)(l->len - 1 - at) * sizeof v);
    l->items[at] = v;
    return 0;
}

SC_KERNEL int sc_list_delete(sc_ctx *cx, sc_list *l, int64_t i) {
    int64_t at = i < 0 ? i + l->len : i;
    if (at < 0 || at >= l->len) return sc_raise(cx, "IndexError", "list index out of range");
    sc_value old = l->items[at];
    l->len--;
    l->written = true;
    memmove(l->items + at, l->items + at + 1, (size_t)(l->len - at) * sizeof old);
    if (l->counted) sc_release(cx, old.o);
    return 0;
}

SC_KERNEL sc_list *sc_list_slice(sc_ctx *cx, const sc_list *l, int64_t start, int64_t stop, int64_t step) {
    if (step == 0) return sc_raise(cx, "ValueError", "slice step cannot be zero"), NULL;
    int64_t n = sc_slice_length(l->len, &start, &stop, step);
    sc_list *made = sc_list_new(cx, l->counted, n);
    if (!made) return NULL;
    for (int64_t k = 0; k < n; k++) {
        if (sc_list_append(cx, made, l->items[start + k * step]) < 0) {
            sc_release(cx, made);
            return NULL;
        }
    }
    return made;
}

SC_KERNEL int sc_list_splice(sc_ctx *cx, sc_list *l, int64_t start, int64_t stop, const sc_list *other) {
    sc_list *tail = NULL, *added = sc_list_slice(cx, other, 0, INT64_MAX, 1); /* `other` may be this very list */
    int status = -1;
    if (!added) return -1;
    start = sc_slice_bound(start, l->len, 0, l->len);
    stop = sc_slice_bound(stop, l->len, start, l->len);
    if (!(tail = sc_list_slice(cx, l, stop, INT64_MAX, 1))) goto done;
    while (l->len > start)
        if (sc_list_delete(cx, l, -1) < 0) goto done;
    for (int64_t i = 0; i < added->len; i++)
        if (sc_list_append(cx, l, added->items[i]) < 0) goto done;
    for (int64_t i = 0; i < tail->len; i++)
        if (sc_list_append(cx, l, tail->items[i]) < 0) goto done;
    l->written = true;
    status = 0;
done:
    sc_release(cx, added);
    sc_release(cx, tail);
    return status;
}

SC_KERNEL void sc_object_set(sc_ctx *cx, sc_list *o, int at, int n, const sc_value *leaves) {
    for (int i = 0; i < n; i++) {
        bool counted = o->mask >> (at + i) & 1;
        sc_value old = o->items[at + i];
        if (counted) sc_retain(leaves[i].o);
        o->items[at + i] = leaves[i];
        if (counted) sc_release(cx, old.o);
    }
}

/* a + b of tuples of any length, which are lists that nothing changes. */
SC_KERNEL sc_list *sc_tuple_join(sc_ctx *cx, const sc_list *a, const sc_list *b) {
    sc_list *made = sc_list_slice(cx, a->len ? a : b, 0, INT64_MAX, 1);
    if (!made || !a->len || sc_list_splice(cx, made, INT64_MAX, INT64_MAX, b) == 0) return made;
    sc_release(cx, made);
    return NULL;
}

static inline bool list_less(sc_value a, sc_value b, char member) {
    if (member == 's') return sc_str_compare(a.s, b.s) < 0;
    return member == 'f' ? a.f < b.f : member == 'b' ? a.b < b.b : a.i < b.i;
}

/* A stable merge sort, as Python's is: elements that are equal keep their order, also when reversed. */
SC_KERNEL sc_list *sc_list_argsort(sc_ctx *cx, const sc_list *l, char member, bool reverse) {
    int64_t n = l->len;
    sc_list *order = sc_list_new(cx, false, n), *other = sc_list_new(cx, false, n);
    if (!order || !other) goto failed;
    for (int64_t i = 0; i < n; i++)
        if (sc_list_append(cx, order, (sc_value){.i = i}) < 0 || sc_list_append(cx, other, (sc_value){.i = i}) < 0)
            goto failed;
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t from = 0; from < n; from += 2 * width) {
            int64_t middle = from + width < n ? from + width : n, end = from + 2 * width < n ? from + 2 * width : n;
            int64_t a = from, b = middle;
            for (int64_t k = from; k < end; k++) {
                bool second = a >= middle;
                if (a < middle && b < end) {
                    sc_value x = l->items[order->items[a].i], y = l->items[order->items[b].i];
                    second = reverse ? list_less(x, y, member) : list_less(y, x, member);
                }
                other->items[k] = order->items[second ? b++ : a++];
            }
        }
        sc_list *sorted = other;
        other = order;
        order = sorted;
    }
    sc_release(cx, other);
    return order;
failed:
    sc_release(cx, order);
    sc_release(cx, other);
    return NULL;
}

SC_KERNEL sc_tensor *sc_list_tensor(sc_ctx *cx, const sc_list *l, char member) {
    sc_tensor *made = sc_empty(cx, member == 'f' ? SC_F64 : member == 'b' ? SC_BOOL : SC_I64, 1, &l->len);
    if (!made) return NULL;
    if (member == 'b') {
        for (int64_t i = 0; i < l->len; i++) ((bool *)made->data)[i] = l->items[i].b;
    } else {
        for (int64_t i = 0; i < l->len; i++) ((int64_t *)made->data)[i] = l->items[i].i; /* doubles by their bits */
    }
    return made;
}
