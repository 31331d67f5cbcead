/* sc_tables.c - the memory of dicts. A dict that dies leaves its memory to the next one that is made, so that a dict that is made
 * in each iteration of a loop does not grow anew. */
#include "sc_tables.h"

#include <string.h>

#include "sc_poison.h"

enum {
    CLEARED = 16,       /* memory is kept if at least one slot in so many was used: clearing the others costs little */
    ALWAYS = 1024,      /* slots that are cleared in any case */
    MOST_SLOTS = 8192,  /* of memory that is kept */
    MOST_BYTES = 131072 /* of its items */
};

/* Release a key in parts, as often as the items from `number` on share its tuple, and return how many these are. */
static int64_t release_fronts(sc_ctx *cx, const sc_dict *d, int64_t number) {
    const sc_value *row = sc_dict_row(d, number, d->stride), *end = sc_dict_row(d, d->n, d->stride);
    const void *key = row[1].p;
    sc_list *front = sc_key_front(row[1]);
    int32_t n = 0;
    for (; row < end && row[1].p == key && (uint64_t)row[0].i != SC_HOLE; row += d->stride) n++;
    if (front->obj.refs == SC_IMMORTAL) return n;
    front->obj.refs -= n - 1;
    sc_release(cx, front);
    return n;
}

void sc_table_release(sc_ctx *cx, const sc_dict *d) {
    bool keys = sc_dict_counts_keys(d), parts = sc_dict_has_tuples(d) && !sc_key_last_counts(d);
    if (!keys && !d->counted) return;
    for (int64_t i = 0; d->counted && i < d->n; i++)
        if (sc_dict_item(d, i, d->stride)->hash != SC_HOLE) sc_release(cx, sc_dict_value(d, i)->o);
    for (int64_t i = 0; keys && i < d->n; i++) {
        const sc_item *item = sc_dict_item(d, i, d->stride);
        if (item->hash == SC_HOLE) continue;
        if (parts && sc_in_parts(item->key)) i += release_fronts(cx, d, i) - 1;
        else sc_key_release(cx, d, item);
    }
}

static void free_table(sc_ctx *cx, const sc_table *t) {
    if (t->items) sc_memory(cx, t->items, t->nbytes, 0);
    if (t->slot) sc_memory(cx, t->slot, (size_t)(t->mask + 1) * sizeof *t->slot, 0);
}

static void poison(const sc_table *t) {
    POISON(t->items, t->nbytes);
    POISON(t->slot, (size_t)(t->mask + 1) * sizeof *t->slot);
}

static void unpoison(const sc_table *t) {
    UNPOISON(t->items, t->nbytes);
    UNPOISON(t->slot, (size_t)(t->mask + 1) * sizeof *t->slot);
}

void sc_table_give(sc_ctx *cx, sc_dict *d) {
    sc_table t = {d->slot, d->items, (size_t)d->cap * sc_item_bytes(d), d->mask};
    uint64_t slots = t.mask + 1;
    bool useful = !d->is_set && t.items && t.slot && slots <= MOST_SLOTS && t.nbytes <= MOST_BYTES;
    if (!useful || cx->n_tables == SC_TABLES || (slots > ALWAYS && slots > CLEARED * (uint64_t)d->fill)) {
        free_table(cx, &t);
        return;
    }
    memset(t.slot, 0xff, (size_t)slots * sizeof *t.slot);
    poison(&t);
    cx->table[cx->n_tables++] = t;
}

bool sc_table_take(sc_ctx *cx, sc_dict *d) {
    int i = cx->n_tables - 1;
    while (i >= 0 && cx->table[i].nbytes % sc_item_bytes(d)) i--; /* `cap` items fill the memory: the allocator is told its size */
    if (i < 0) return false;
    sc_table t = cx->table[i];
    cx->table[i] = cx->table[--cx->n_tables];
    unpoison(&t);
    d->slot = t.slot;
    d->items = t.items;
    d->mask = t.mask;
    d->cap = (int64_t)(t.nbytes / sc_item_bytes(d));
    return true;
}

void sc_tables_free(sc_ctx *cx) {
    while (cx->n_tables) {
        const sc_table *t = &cx->table[--cx->n_tables];
        unpoison(t);
        free_table(cx, t);
    }
}
