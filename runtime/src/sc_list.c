/* sc_list.c - operations on lists; append, get and set are in sc_core.c. */
#include "../include/sc_str.h"
#include "sc_internal.h"

static inline size_t list_width(const sc_list *l) {
    return l->holds == SC_BOOLS ? sizeof(bool) : sizeof(sc_value);
}

static inline char *list_place(const sc_list *l, int64_t i) {
    return (char *)l->items + (size_t)i * list_width(l);
}

static void list_retain(const sc_list *l, int64_t start, int64_t stop) {
    for (int64_t i = start; l->holds == SC_OBJECTS && i < stop; i++) sc_retain(l->items[i].o);
}

/* Replace the items from start to stop, which are released, by a gap of n items. */
static int list_open(sc_ctx *cx, sc_list *l, int64_t start, int64_t stop, int64_t n) {
    int64_t rest = l->len - stop, len = start + n + rest;
    if (sc_list_grow(cx, l, len) < 0) return -1;
    for (int64_t i = start; l->holds == SC_OBJECTS && i < stop; i++) sc_release(cx, l->items[i].o);
    memmove(list_place(l, start + n), list_place(l, stop), (size_t)rest * list_width(l));
    l->len = len;
    l->written = true;
    return 0;
}

SC_KERNEL int sc_list_insert(sc_ctx *cx, sc_list *l, int64_t i, sc_value v) {
    int64_t at = i < 0 ? (i + l->len < 0 ? 0 : i + l->len) : i < l->len ? i : l->len;
    if (list_open(cx, l, at, at, 1) < 0) return -1;
    if (l->holds == SC_BOOLS) l->bools[at] = v.b;
    else l->items[at] = v;
    list_retain(l, at, at + 1);
    return 0;
}

SC_KERNEL int sc_list_delete(sc_ctx *cx, sc_list *l, int64_t i) {
    int64_t at = i < 0 ? i + l->len : i;
    if (at < 0 || at >= l->len) return sc_raise(cx, "IndexError", "list assignment index out of range");
    return list_open(cx, l, at, at + 1, 0);
}

SC_KERNEL sc_list *sc_list_slice(sc_ctx *cx, const sc_list *l, int64_t start, int64_t stop, int64_t step) {
    if (step == 0) return sc_raise(cx, "ValueError", "slice step cannot be zero"), NULL;
    int64_t n = sc_slice_length(l->len, &start, &stop, step);
    sc_list *made = sc_list_new(cx, (sc_items)l->holds, n);
    if (!made) return NULL;
    if (step == 1) memcpy(made->items, list_place(l, start), (size_t)n * list_width(l));
    else if (l->holds == SC_BOOLS) for (int64_t k = 0; k < n; k++) made->bools[k] = l->bools[start + k * step];
    else for (int64_t k = 0; k < n; k++) made->items[k] = l->items[start + k * step];
    made->len = n;
    list_retain(made, 0, n);
    return made;
}

SC_KERNEL sc_list *sc_list_repeat(sc_ctx *cx, const sc_list *l, int64_t times) {
    int64_t n;
    if (times < 0) times = 0;
    if (__builtin_mul_overflow(l->len, times, &n)) return sc_raise(cx, "MemoryError", "%s", ""), NULL;
    sc_list *made = sc_list_new(cx, (sc_items)l->holds, n);
    if (!made) return NULL;
    for (int64_t done = 0, more; done < n; done += more) { /* the items, then repeatedly all items so far */
        more = done == 0 ? l->len : done < n - done ? done : n - done;
        memcpy(list_place(made, done), done == 0 ? l->items : made->items, (size_t)more * list_width(l));
    }
    made->len = n;
    list_retain(made, 0, n);
    return made;
}

SC_KERNEL int sc_list_splice(sc_ctx *cx, sc_list *l, int64_t start, int64_t stop, const sc_list *other) {
    sc_list *added = sc_list_slice(cx, other, 0, INT64_MAX, 1); /* `other` may be this very list */
    if (!added) return -1;
    start = sc_slice_bound(start, l->len, 0, l->len);
    stop = sc_slice_bound(stop, l->len, start, l->len);
    int status = list_open(cx, l, start, stop, added->len);
    if (status == 0 && added->len) {
        memcpy(list_place(l, start), added->items, (size_t)added->len * list_width(l));
        list_retain(l, start, start + added->len);
    }
    sc_release(cx, added);
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

/* Return a + b of tuples of any length, which are lists that are never changed. */
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

/* Sort by a stable merge sort, as Python does: equal elements keep their order, even if reversed. */
SC_KERNEL sc_list *sc_list_argsort(sc_ctx *cx, const sc_list *l, char member, bool reverse) {
    int64_t n = l->len;
    sc_list *order = sc_list_new(cx, SC_VALUES, n), *other = sc_list_new(cx, SC_VALUES, n);
    if (!order || !other) goto failed;
    for (int64_t i = 0; i < n; i++)
        if (sc_list_append(cx, order, SC_VALUES, (sc_value){.i = i}) < 0 || sc_list_append(cx, other, SC_VALUES, (sc_value){.i = i}) < 0)
            goto failed;
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t from = 0; from < n; from += 2 * width) {
            int64_t middle = from + width < n ? from + width : n, end = from + 2 * width < n ? from + 2 * width : n;
            int64_t a = from, b = middle;
            for (int64_t k = from; k < end; k++) {
                bool second = a >= middle;
                if (a < middle && b < end) {
                    sc_value x = sc_list_at(l, order->items[a].i), y = sc_list_at(l, order->items[b].i);
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
        memcpy(made->data, l->bools, (size_t)l->len);
    } else {
        for (int64_t i = 0; i < l->len; i++) ((int64_t *)made->data)[i] = l->items[i].i; /* doubles by their bits */
    }
    return made;
}
