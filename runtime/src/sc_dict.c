/* sc_dict.c - dicts and sets with keys that are known at run time.
 *
 * Keys hash as Python's do, and the table is probed, filled and grown as CPython's set is, so that a set gives its keys in
 * CPython's order. Dicts use the same table, from which numbers lead to the items in the order of insertion. */
#include <string.h>

#include "sc_keys.h"
#include "sc_tables.h"

enum { EMPTY = SC_EMPTY, DUMMY = -2, SMALLEST = 8, PROBES = SC_PROBES, LARGE = 50000, SPARSE_FROM = 64, SPARSE_TO = 4096 };

SC_KERNEL int64_t sc_hash(const char *kind, const sc_value *key) { return (int64_t)hash_key(kind, key); }

static inline sc_item *item_at(const sc_dict *d, int64_t number) { return sc_dict_item(d, number, d->stride); }

static inline sc_value *value_at(const sc_dict *d, int64_t number) { return sc_dict_value(d, number); }

static inline const sc_value *leaves_of(const sc_dict *d, const sc_item *item) {
    return d->kind[0] == '(' ? item->key.l->items : &item->key;
}

static __attribute__((noinline)) bool same_object(const sc_dict *d, const sc_item *item, const sc_value *key) {
    if (d->kind[0] == '(') return same_key(d->kind + 1, key, item->key.l->items);
    if (d->kind[0] == 's') return sc_str_equal(key->s, item->key.s);
    if (sc_dict_has_tuples(d)) return same_tuples(d->kind + 1, key, &item->key);
    return same_key(d->kind, key, &item->key);
}

static inline bool same_item(const sc_dict *d, const sc_item *item, const sc_value *key) {
    return d->kind[0] == 'i' ? item->key.i == key->i : same_object(d, item, key);
}

/* ---- the table ---- */

typedef struct probe { /* the slots that a hash probes, in order */
    uint64_t at, start, perturb;
    int left;
} probe;

static inline probe probe_first(const sc_dict *d, uint64_t hash) {
    uint64_t start = hash & d->mask;
    return (probe){start, start, hash, start + PROBES <= d->mask ? PROBES : 0};
}

static inline void probe_next(const sc_dict *d, probe *p) {
    if (p->left) {
        p->left--;
        p->at++;
        return;
    }
    p->perturb >>= 5;
    p->at = p->start = (p->start * 5 + 1 + p->perturb) & d->mask;
    p->left = p->start + PROBES <= d->mask ? PROBES : 0;
}

/* Return the number of the item with a key, or -1. *slot becomes its slot, or the slot for a new key. */
static inline int64_t look_up(const sc_dict *d, uint64_t hash, const sc_value *key, uint64_t *slot) {
    uint64_t dummy = UINT64_MAX;
    for (probe p = probe_first(d, hash);; probe_next(d, &p)) {
        int32_t number = d->slot[p.at];
        if (number == EMPTY) {
            *slot = dummy != UINT64_MAX ? dummy : p.at;
            return -1;
        }
        if (number == DUMMY) {
            dummy = p.at;
        } else if (item_at(d, number)->hash == hash && same_item(d, item_at(d, number), key)) {
            *slot = p.at;
            return number;
        }
    }
}

static uint64_t slot_of(const sc_dict *d, int64_t number) {
    probe p = probe_first(d, item_at(d, number)->hash);
    while (d->slot[p.at] != number) probe_next(d, &p);
    return p.at;
}

/* Enter an item that has no slot into a table without dummies. */
static void enter(sc_dict *d, int64_t number) {
    probe p = probe_first(d, item_at(d, number)->hash);
    while (d->slot[p.at] != EMPTY) probe_next(d, &p);
    d->slot[p.at] = (int32_t)number;
}

/* Return how many slots may be in use before the table grows. Sets grow as CPython's. Tables of dicts that fit the first cache are
 * sparse, so that most keys are found or entered at their first slot. */
static inline int64_t most_in_use(const sc_dict *d) {
    bool sparse = !d->is_set && d->mask >= SPARSE_FROM - 1 && d->mask < SPARSE_TO;
    return (int64_t)(sparse ? d->mask / 4 : (d->mask * 3 - 1) / 5);
}

static inline void find_room(sc_dict *d) {
    int64_t slots = most_in_use(d) - d->fill;
    d->room = d->n + slots < d->cap ? d->n + slots : d->cap;
}

static void fill_empty(sc_dict *d) {
    for (uint64_t i = 0; i <= d->mask; i++) d->slot[i] = EMPTY;
    d->fill = 0;
    find_room(d);
}

/* Make a table of more than `least` slots, and enter items in the order of the old table. */
static int resize(sc_ctx *cx, sc_dict *d, uint64_t least) {
    uint64_t size = SMALLEST, old_size = d->mask + 1;
    while (size <= least) size *= 2;
    int32_t *old = d->slot;
    d->slot = sc_memory(cx, NULL, 0, size * sizeof *old);
    if (!d->slot) {
        d->slot = old;
        return -1;
    }
    d->mask = size - 1;
    fill_empty(d);
    for (uint64_t i = 0; i < old_size; i++)
        if (old[i] >= 0) enter(d, old[i]);
    d->fill = d->len;
    d->sorted = false;
    find_room(d);
    sc_memory(cx, old, old_size * sizeof *old, 0);
    return 0;
}

/* ---- items ---- */

/* Close the holes, and sort the items of a set by their slots. */
static int arrange(sc_ctx *cx, sc_dict *d) {
    if (!d->is_set) {
        int64_t to = 0;
        for (int64_t i = 0; i < d->n; i++) {
            if (item_at(d, i)->hash == SC_HOLE) continue;
            if (i != to) {
                d->slot[slot_of(d, i)] = (int32_t)to;
                memcpy(item_at(d, to), item_at(d, i), sc_item_bytes(d));
            }
            to++;
        }
        d->n = to;
        find_room(d);
        return 0;
    }
    int64_t cap = d->len ? d->len : 1, to = 0;
    sc_value *items = sc_memory(cx, NULL, 0, (size_t)cap * sc_item_bytes(d));
    if (!items) return -1;
    for (uint64_t i = 0; i <= d->mask; i++) {
        if (d->slot[i] < 0) continue;
        memcpy(items + to * d->stride, item_at(d, d->slot[i]), sc_item_bytes(d));
        d->slot[i] = (int32_t)to++;
    }
    sc_memory(cx, d->items, (size_t)d->cap * sc_item_bytes(d), 0);
    d->items = items;
    d->cap = cap;
    d->n = to;
    d->sorted = true;
    return 0;
}

static int room_for_one(sc_ctx *cx, sc_dict *d) {
    if (d->n == d->cap && d->n > 2 * d->len && arrange(cx, d)) return -1;
    if (d->n < d->cap) return 0;
    int64_t cap = d->cap ? 2 * d->cap : SMALLEST;
    if (cap > INT32_MAX) return sc_raise(cx, "MemoryError", "%s", "");
    void *items = sc_memory(cx, d->items, (size_t)d->cap * sc_item_bytes(d), (size_t)cap * sc_item_bytes(d));
    if (!items) return -1;
    d->items = items;
    d->cap = cap;
    return 0;
}

/* Release the key and the value of an item that the dict no longer has. */
static void drop(sc_ctx *cx, const sc_dict *d, int64_t number) {
    sc_key_release(cx, d, item_at(d, number));
    if (d->counted) sc_release(cx, value_at(d, number)->o);
}

typedef struct owned_key { /* as an item has it; last: of a key in parts */
    sc_value key, last;
} owned_key;

/* Return a key that is a value, a tuple object, or a tuple in parts, with references of its own. */
static inline owned_key share_key(const sc_dict *d, const sc_value *key) {
    if (sc_dict_has_tuples(d) && sc_in_parts(*key)) {
        sc_retain(sc_key_front(*key));
        if (sc_key_last_counts(d)) sc_retain(key[1].o);
        return (owned_key){key[0], key[1]};
    }
    if (sc_dict_counts_keys(d)) sc_retain(key->o);
    return (owned_key){*key, {0}};
}

static sc_list *tuple_key(sc_ctx *cx, const char *kind, const sc_value *leaves) {
    int n = 0;
    uint64_t mask = 0;
    for (const char *k = kind; *k; k++) {
        if (*k == '(' || *k == ')') continue;
        mask |= (uint64_t)(*k == 's' || *k == '[') << n++;
        if (*k == '[') k = after_key(k) - 1;
    }
    return sc_list_tuple(cx, mask, n, leaves);
}

/* Make a key of its leaves: a value or a tuple. */
static inline int own_key(sc_ctx *cx, const sc_dict *d, const sc_value *leaves, owned_key *key) {
    if (d->kind[0] != '(') return *key = share_key(d, leaves), 0;
    return (key->key.l = tuple_key(cx, d->kind, leaves)) ? 0 : -1;
}

/* Write the leaves of a value that the dict did not have. */
static inline void put_leaves(sc_dict *d, int64_t number, const sc_value *value) {
    sc_value *to = value_at(d, number);
    for (int i = 0; i < d->width; i++) to[i] = value[i];
    if (d->counted) sc_retain(value->o);
}

static void put_zeros(sc_dict *d, int64_t number) {
    memset(value_at(d, number), 0, d->width * sizeof(sc_value));
}

/* Insert a new key. The dict takes over the reference to a key that is an object. value: NULL for zeros. */
static inline int insert(sc_ctx *cx, sc_dict *d, uint64_t hash, uint64_t slot, owned_key key, const sc_value *value) {
    bool fresh = d->slot[slot] == EMPTY;
    if (room_for_one(cx, d)) return -1;
    *item_at(d, d->n) = (sc_item){hash, key.key};
    if (sc_dict_has_tuples(d)) (&item_at(d, d->n)->key)[1] = key.last;
    if (value) put_leaves(d, d->n, value);
    else put_zeros(d, d->n);
    d->slot[slot] = (int32_t)d->n++;
    d->len++;
    d->changes++;
    d->written = true;
    d->sorted = false;
    d->fill += fresh;
    find_room(d);
    if (!fresh || d->fill <= most_in_use(d)) return 0;
    int grows = d->len > LARGE ? 2 : d->is_set || d->len > SPARSE_TO / 4 ? 4 : 12;
    return resize(cx, d, (uint64_t)d->len * (uint64_t)grows);
}

static sc_dict *table_new(sc_ctx *cx, const char *kind, bool is_set, int width, bool counted) {
    sc_dict *d = sc_object(cx, SC_DICT);
    if (!d) return NULL;
    d->is_set = is_set;
    d->counted = counted;
    d->width = (uint8_t)width;
    d->stride = (uint8_t)(2 + width + (kind[0] == '['));
    d->written = d->sorted = false;
    d->kind = kind;
    d->owner = NULL;
    d->len = d->n = d->cap = d->changes = d->fill = 0;
    d->finger = 0;
    if (!is_set && sc_table_take(cx, d)) { /* the order of a set depends on the size of its table */
        find_room(d);
        return d;
    }
    d->items = NULL;
    d->mask = SMALLEST - 1;
    if ((d->slot = sc_memory(cx, NULL, 0, SMALLEST * sizeof *d->slot))) {
        fill_empty(d);
        return d;
    }
    sc_release(cx, d);
    return NULL;
}

/* ---- what programs call ---- */

SC_KERNEL sc_dict *sc_dict_new(sc_ctx *cx, const char *kind, int width, bool counted) {
    return table_new(cx, kind, false, width, counted);
}

SC_KERNEL sc_dict *sc_set_new(sc_ctx *cx, const char *kind) {
    return table_new(cx, kind, true, 0, false);
}

SC_KERNEL int64_t sc_dict_find(const sc_dict *d, const sc_value *key) {
    uint64_t slot;
    return d->len ? look_up(d, hash_key(d->kind, key), key, &slot) : -1;
}

SC_KERNEL int sc_dict_join_key(sc_ctx *cx, sc_dict *d, int64_t number) {
    sc_item *item = item_at(d, number);
    sc_list *front = sc_key_front(item->key);
    sc_items holds = sc_key_last_counts(d) ? SC_OBJECTS : d->kind[1] == 'b' ? SC_BOOLS : SC_VALUES;
    sc_list *made = sc_list_new(cx, holds, front->len + 1);
    if (!made) return -1;
    memcpy(made->items, front->items, (size_t)front->len * (holds == SC_BOOLS ? sizeof(bool) : sizeof(sc_value)));
    made->len = front->len;
    made->hashed = front->hashed;
    made->hash_sum = front->hash_sum;
    for (int64_t i = 0; holds == SC_OBJECTS && i < made->len; i++) sc_retain(made->items[i].o);
    sc_list_append(cx, made, holds, (&item->key)[1]);
    made->written = false;
    sc_key_release(cx, d, item);
    item->key.l = made;
    return 0;
}

SC_KERNEL void sc_dict_put(sc_ctx *cx, sc_dict *d, int64_t number, const sc_value *value) {
    sc_value old = *value_at(d, number);
    put_leaves(d, number, value);
    d->written = true;
    if (d->counted) sc_release(cx, old.o);
}

SC_KERNEL int sc_dict_put_tuple(sc_ctx *cx, sc_dict *d, int64_t number, uint64_t mask, int n, const sc_value *leaves) {
    sc_list *old = value_at(d, number)->l;
    if (old->obj.refs == 1 && !old->owner) {
        sc_tuple_set(cx, old, 0, n, leaves);
        d->written = true;
        return 0;
    }
    sc_list *made = sc_list_tuple(cx, mask, n, leaves);
    if (!made) return -1;
    sc_dict_put(cx, d, number, &(sc_value){.l = made});
    sc_release(cx, made);
    return 0;
}

SC_KERNEL int sc_dict_enter(sc_ctx *cx, sc_dict *d, const sc_value *leaves, const sc_value *value, int64_t *number) {
    uint64_t hash = hash_key(d->kind, leaves);
    probe p = probe_first(d, hash);
    while (d->slot[p.at] >= 0) probe_next(d, &p);
    owned_key key;
    if (own_key(cx, d, leaves, &key) || insert(cx, d, hash, p.at, key, value)) return -1;
    *number = d->n - 1;
    return 0;
}

SC_KERNEL int sc_dict_place(sc_ctx *cx, sc_dict *d, const sc_value *leaves, int64_t *number) {
    uint64_t slot, hash = hash_key(d->kind, leaves);
    owned_key key;
    if ((*number = look_up(d, hash, leaves, &slot)) >= 0) return 0;
    if (own_key(cx, d, leaves, &key) || insert(cx, d, hash, slot, key, NULL)) return -1;
    *number = d->n - 1;
    return 1;
}

SC_KERNEL int sc_dict_set(sc_ctx *cx, sc_dict *d, const sc_value *leaves, const sc_value *value) {
    uint64_t slot, hash = hash_key(d->kind, leaves);
    int64_t number = look_up(d, hash, leaves, &slot);
    owned_key key;
    if (number < 0) return own_key(cx, d, leaves, &key) ? -1 : insert(cx, d, hash, slot, key, value);
    sc_dict_put(cx, d, number, value);
    return 0;
}

SC_KERNEL int sc_set_add(sc_ctx *cx, sc_dict *s, const sc_value *leaves) {
    uint64_t slot, hash = hash_key(s->kind, leaves);
    owned_key key;
    if (look_up(s, hash, leaves, &slot) >= 0) return 0;
    return own_key(cx, s, leaves, &key) ? -1 : insert(cx, s, hash, slot, key, NULL);
}

SC_KERNEL void sc_dict_remove(sc_ctx *cx, sc_dict *d, int64_t number) {
    d->slot[slot_of(d, number)] = DUMMY;
    item_at(d, number)->hash = SC_HOLE;
    while (d->n && item_at(d, d->n - 1)->hash == SC_HOLE) d->n--;
    find_room(d);
    d->len--;
    d->changes++;
    d->written = true;
    d->sorted = false;
    drop(cx, d, number);
}

SC_KERNEL void sc_dict_clear(sc_ctx *cx, sc_dict *d) {
    int64_t n = d->n;
    d->changes += d->len > 0;
    d->n = d->len = 0;
    d->finger = 0;
    d->written = true;
    d->sorted = false;
    if (d->mask >= SMALLEST) {
        int32_t *less = sc_memory(cx, d->slot, (size_t)(d->mask + 1) * sizeof *less, SMALLEST * sizeof *less);
        if (less) { /* else the table is unchanged */
            d->slot = less;
            d->mask = SMALLEST - 1;
        }
    }
    fill_empty(d);
    for (int64_t i = 0; i < n; i++)
        if (item_at(d, i)->hash != SC_HOLE) drop(cx, d, i);
}

SC_KERNEL int sc_dict_walk(sc_ctx *cx, sc_dict *d, int64_t *changes) {
    if ((d->n != d->len || (d->is_set && !d->sorted)) && arrange(cx, d)) return -1;
    *changes = d->changes;
    return 0;
}

SC_KERNEL int sc_dict_unchanged(sc_ctx *cx, const sc_dict *d, int64_t changes) {
    if (d->changes == changes) return 0;
    return sc_raise(cx, "RuntimeError", d->is_set ? "Set changed size during iteration"
                                                  : "dictionary changed size during iteration");
}

/* ---- sets, whose order depends on their history ---- */

/* Make room for n more keys, as Python does before it adds those of another table. */
static int reserve(sc_ctx *cx, sc_dict *s, int64_t n) {
    if ((uint64_t)(s->fill + n) * 5 < s->mask * 3) return 0;
    return resize(cx, s, (uint64_t)(s->len + n) * 2);
}

/* Add a key of another table with the same kind of keys. */
static int add_item(sc_ctx *cx, sc_dict *s, const sc_dict *from, const sc_item *item) {
    uint64_t slot;
    if (look_up(s, item->hash, leaves_of(from, item), &slot) >= 0) return 0;
    return insert(cx, s, item->hash, slot, share_key(from, &item->key), NULL);
}

static int64_t find_item(const sc_dict *d, const sc_dict *from, const sc_item *item) {
    uint64_t slot;
    return d->len ? look_up(d, item->hash, leaves_of(from, item), &slot) : -1;
}

/* Return the item after *at in the order of Python's iteration, or NULL at the end. */
static const sc_item *next_item(const sc_dict *d, uint64_t *at) {
    uint64_t end = d->is_set ? d->mask + 1 : (uint64_t)d->n;
    while (*at < end) {
        uint64_t i = (*at)++;
        if (d->is_set && d->slot[i] >= 0) return item_at(d, d->slot[i]);
        if (!d->is_set && item_at(d, (int64_t)i)->hash != SC_HOLE) return item_at(d, (int64_t)i);
    }
    return NULL;
}

SC_KERNEL int sc_set_merge(sc_ctx *cx, sc_dict *s, const sc_dict *other) {
    if (s == other || !other->len) return 0;
    if (reserve(cx, s, other->len)) return -1;
    bool alike = other->is_set && !s->fill && s->mask == other->mask && other->fill == other->len;
    if (alike) { /* slot by slot */
        for (uint64_t i = 0; i <= other->mask; i++) {
            if (other->slot[i] < 0) continue;
            const sc_item *item = item_at(other, other->slot[i]);
            if (insert(cx, s, item->hash, i, share_key(other, &item->key), NULL)) return -1;
        }
        return 0;
    }
    uint64_t at = 0;
    for (const sc_item *item; (item = next_item(other, &at));)
        if (add_item(cx, s, other, item)) return -1;
    return 0;
}

/* Return the intersection. Python iterates over the smaller set, or over the second if both have one size. */
SC_KERNEL sc_dict *sc_set_and(sc_ctx *cx, const sc_dict *a, const sc_dict *b) {
    const sc_dict *walked = b->len > a->len ? a : b, *asked = walked == a ? b : a;
    sc_dict *made = sc_set_new(cx, a->kind);
    uint64_t at = 0;
    for (const sc_item *item; made && (item = next_item(walked, &at));) {
        if (find_item(asked, walked, item) < 0 || !add_item(cx, made, walked, item)) continue;
        sc_release(cx, made);
        return NULL;
    }
    return made;
}

SC_KERNEL int sc_set_keep(sc_ctx *cx, sc_dict *s, const sc_dict *other) {
    sc_dict *kept = sc_set_and(cx, s, other), old = *s;
    if (!kept) return -1;
    s->len = kept->len, s->n = kept->n, s->cap = kept->cap, s->mask = kept->mask, s->fill = kept->fill;
    s->slot = kept->slot, s->items = kept->items, s->sorted = kept->sorted;
    kept->len = old.len, kept->n = old.n, kept->cap = old.cap, kept->mask = old.mask, kept->fill = old.fill;
    kept->slot = old.slot, kept->items = old.items;
    s->changes += old.len != s->len;
    s->written = true;
    sc_release(cx, kept);
    return 0;
}

SC_KERNEL int sc_set_drop(sc_ctx *cx, sc_dict *s, const sc_dict *other) {
    uint64_t at = 0;
    if (s == other) {
        sc_dict_clear(cx, s);
        return 0;
    }
    for (const sc_item *item; (item = next_item(other, &at));) {
        int64_t number = find_item(s, other, item);
        if (number >= 0) sc_dict_remove(cx, s, number);
    }
    if ((uint64_t)(s->fill - s->len) <= s->mask / 4) return 0;
    return resize(cx, s, (uint64_t)s->len * (s->len > LARGE ? 2 : 4));
}

SC_KERNEL int sc_set_flip(sc_ctx *cx, sc_dict *s, const sc_dict *other) {
    uint64_t at = 0;
    if (s == other) {
        sc_dict_clear(cx, s);
        return 0;
    }
    for (const sc_item *item; (item = next_item(other, &at));) {
        int64_t number = find_item(s, other, item);
        if (number >= 0) sc_dict_remove(cx, s, number);
        else if (add_item(cx, s, other, item)) return -1;
    }
    return 0;
}

SC_KERNEL sc_dict *sc_set_minus(sc_ctx *cx, const sc_dict *a, const sc_dict *b) {
    sc_dict *made = sc_set_new(cx, a->kind);
    uint64_t at = 0;
    if (!made) return NULL;
    if (a->len >> 2 > b->len) {
        if (!sc_set_merge(cx, made, a) && !sc_set_drop(cx, made, b)) return made;
        goto failed;
    }
    for (const sc_item *item; (item = next_item(a, &at));)
        if (find_item(b, a, item) < 0 && add_item(cx, made, a, item)) goto failed;
    return made;
failed:
    sc_release(cx, made);
    return NULL;
}

SC_KERNEL int64_t sc_set_next(sc_dict *s) {
    uint64_t at = s->finger & s->mask;
    while (s->slot[at] < 0) at = at == s->mask ? 0 : at + 1;
    s->finger = at + 1;
    return s->slot[at];
}

SC_KERNEL int sc_set_layout(sc_ctx *cx, sc_dict *s, uint64_t mask, int64_t fill, uint64_t finger) {
    int32_t *slot = sc_memory(cx, s->slot, (size_t)(s->mask + 1) * sizeof *slot, (size_t)(mask + 1) * sizeof *slot);
    if (!slot) return -1;
    s->slot = slot;
    s->mask = mask;
    fill_empty(s);
    s->fill = fill;
    s->finger = finger;
    return 0;
}

SC_KERNEL int sc_set_lay(sc_ctx *cx, sc_dict *s, uint64_t slot, const sc_value *leaves) {
    owned_key key;
    s->slot[slot] = DUMMY; /* `insert` does not count a dummy as one more slot */
    if (!leaves) return 0;
    return own_key(cx, s, leaves, &key) ? -1 : insert(cx, s, hash_key(s->kind, leaves), slot, key, NULL);
}
