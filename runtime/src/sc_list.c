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

/* Make room for items that are about to be appended: for a limited number, since an exception may prevent most of them. */
SC_KERNEL int sc_list_room(sc_ctx *cx, sc_list *l, int64_t items) {
    enum { MOST = 1 << 15 };
    return sc_list_grow(cx, l, l->len + (items < MOST ? items : MOST));
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
    sc_tuple_set(cx, o, at, n, leaves);
}

/* Return a tuple of any length, which is a list that is never changed, of the items of `a` and room for `more`. */
static sc_list *tuple_begin(sc_ctx *cx, const sc_list *a, int holds, int64_t more) {
    int64_t len;
    if (__builtin_add_overflow(a->len, more, &len)) return sc_raise(cx, "MemoryError", "%s", ""), NULL;
    sc_list *made = sc_list_new(cx, (sc_items)holds, len);
    if (!made) return NULL;
    memcpy(made->items, a->items, (size_t)a->len * list_width(made));
    made->len = len;
    made->hashed = a->hashed;
    made->hash_sum = a->hash_sum;
    return made;
}

SC_KERNEL sc_list *sc_tuple_join(sc_ctx *cx, const sc_list *a, const sc_list *b) {
    if (!a->len) return sc_list_slice(cx, b, 0, INT64_MAX, 1); /* an empty tuple may not say what it holds */
    sc_list *made = tuple_begin(cx, a, a->holds, b->len);
    if (!made) return NULL;
    if (b->len) memcpy(list_place(made, a->len), b->items, (size_t)b->len * list_width(made));
    list_retain(made, 0, made->len);
    return made;
}

SC_KERNEL sc_list *sc_tuple_append(sc_ctx *cx, const sc_list *a, int holds, sc_value v) {
    sc_list *made = tuple_begin(cx, a, holds, 1);
    if (!made) return NULL;
    if (holds == SC_BOOLS) made->bools[a->len] = v.b;
    else made->items[a->len] = v;
    list_retain(made, 0, made->len);
    return made;
}

static inline bool list_less(sc_value a, sc_value b, char member) {
    if (member == 's') return sc_str_compare(a.s, b.s) < 0;
    return member == 'f' ? a.f < b.f : member == 'b' ? a.b < b.b : a.i < b.i;
}

typedef struct sort_entry {
    sc_value key;
    int64_t index;
} sort_entry;

enum { SORT_RUN = 8, FEW = 32 }; /* entries that are sorted by insertion; entries that are found without sorting all */

static inline bool entry_less(sort_entry a, sort_entry b, char member, bool reverse) {
    return reverse ? list_less(b.key, a.key, member) : list_less(a.key, b.key, member);
}

/* Insert an entry into n sorted ones, behind equal ones. */
static inline void insert_entry(sort_entry *sorted, int64_t n, sort_entry made, char member, bool reverse) {
    for (; n > 0 && entry_less(made, sorted[n - 1], member, reverse); n--) sorted[n] = sorted[n - 1];
    sorted[n] = made;
}

/* Merge the sorted entries from `from` to `middle` and to `end`: of equal ones, those of the first half come first. */
static inline void merge_entries(const sort_entry *from, const sort_entry *middle, const sort_entry *end, sort_entry *to,
                                 char member, bool reverse) {
    const sort_entry *a = from, *b = middle;
    while (a < middle && b < end) {
        bool second = entry_less(*b, *a, member, reverse);
        *to++ = *(second ? b : a);
        b += second;
        a += !second;
    }
    memcpy(to, a, (size_t)(middle - a) * sizeof *a);
    memcpy(to + (middle - a), b, (size_t)(end - b) * sizeof *b);
}

/* Sort by a stable merge sort, as Python does: equal elements keep their order, even if reversed. Return where the entries are. */
static inline __attribute__((always_inline)) sort_entry *sort_entries(sort_entry *at, sort_entry *other, int64_t n, char member,
                                                                      bool reverse) {
    for (int64_t i = 0; i < n; i++) insert_entry(at + i / SORT_RUN * SORT_RUN, i % SORT_RUN, at[i], member, reverse);
    for (int64_t width = SORT_RUN; width < n; width *= 2) {
        for (int64_t from = 0; from < n; from += 2 * width) {
            int64_t middle = from + width < n ? from + width : n, end = from + 2 * width < n ? from + 2 * width : n;
            merge_entries(at + from, at + middle, at + end, other + from, member, reverse);
        }
        sort_entry *sorted = other;
        other = at;
        at = sorted;
    }
    return at;
}

/* Return the index of the first of the items from i on that precedes `worst` or is NaN. Numbers are tested several at a time. */
static inline __attribute__((always_inline)) int64_t next_place(const sc_list *l, int64_t i, sc_value worst, char member, bool reverse) {
    enum { BLOCK = 8 };
    for (; (member == 'f' || member == 'i') && i + BLOCK <= l->len; i += BLOCK) {
        int64_t found = 0;
        for (int j = 0; j < BLOCK; j++) {
            sc_value item = l->items[i + j];
            if (member == 'i') found |= reverse ? worst.i < item.i : item.i < worst.i;
            else found |= reverse ? !(item.f <= worst.f) : !(item.f >= worst.f);
        }
        if (found) break;
    }
    for (; i < l->len; i++) {
        sc_value item = sc_list_at(l, i);
        if ((member == 'f' && item.f != item.f) || (reverse ? list_less(worst, item, member) : list_less(item, worst, member))) break;
    }
    return i;
}

/* Write the first `most` places of the order, without sorting all. With NaN, which is not less, the order depends on the
 * algorithm, and nothing is done. Return whether the places were written. */
static inline __attribute__((always_inline)) bool first_places(const sc_list *l, int64_t most, char member, bool reverse,
                                                              sc_value *to) {
    sort_entry best[FEW];
    for (int64_t i = 0; i < l->len; i++) {
        if (i >= most && (i = next_place(l, i, best[most - 1].key, member, reverse)) == l->len) break;
        sort_entry entry = {sc_list_at(l, i), i};
        if (member == 'f' && entry.key.f != entry.key.f) return false;
        insert_entry(best, i < most ? i : most - 1, entry, member, reverse);
    }
    for (int64_t i = 0; i < most; i++) to[i].i = best[i].index;
    return true;
}

/* Write the places of the order of all items. */
static int all_places(sc_ctx *cx, const sc_list *l, char member, bool reverse, int64_t count, sc_value *to) {
    int64_t n = l->len;
    size_t nbytes = (size_t)(n ? 2 * n : 1) * sizeof(sort_entry);
    sort_entry *entries = sc_memory(cx, NULL, 0, nbytes);
    if (!entries) return -1;
    for (int64_t i = 0; i < n; i++) entries[i] = (sort_entry){sc_list_at(l, i), i};
    const sort_entry *sorted = member == 'f'   ? sort_entries(entries, entries + n, n, 'f', reverse)
                               : member == 'i' ? sort_entries(entries, entries + n, n, 'i', reverse)
                                               : sort_entries(entries, entries + n, n, member, reverse);
    for (int64_t i = 0; i < count; i++) to[i].i = sorted[i].index;
    sc_memory(cx, entries, nbytes, 0);
    return 0;
}

SC_KERNEL sc_list *sc_list_argsort(sc_ctx *cx, const sc_list *l, char member, bool reverse, int64_t most) {
    int64_t count = most < l->len ? most : l->len;
    sc_list *order = sc_list_new(cx, SC_VALUES, count);
    if (!order) return NULL;
    order->len = count;
    bool few = 0 < most && most <= FEW && most < l->len;
    bool found = few && (member == 'f'   ? reverse ? first_places(l, most, 'f', true, order->items)
                                                   : first_places(l, most, 'f', false, order->items)
                         : member == 'i' ? first_places(l, most, 'i', reverse, order->items)
                                         : first_places(l, most, member, reverse, order->items));
    if (found || !count || !all_places(cx, l, member, reverse, count, order->items)) return order;
    sc_release(cx, order);
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
