/* sc_dict.c - dicts and sets with keys that are known at run time.
 *
 * Keys hash as Python's do, and the table is probed, filled and grown as CPython's set is, so that a set gives its keys in
 * CPython's order. Dicts use the same table, from which numbers lead to the items in the order of insertion. */
#include <math.h>
#include <string.h>
#include "../include/sc_ops.h"
#include "../include/sc_str.h"

enum { EMPTY = -1, DUMMY = -2, SMALLEST = 8, PROBES = 9, LARGE = 50000 };

/* ---- keys ---- */

#define MODULUS ((UINT64_C(1) << 61) - 1)

static inline uint64_t hash_signed(bool negative, uint64_t h) {
    if (negative) h = 0 - h;
    return h == UINT64_MAX ? UINT64_MAX - 1 : h; /* -1 means failure in Python, which uses -2 for it */
}

static inline uint64_t hash_int(int64_t v) {
    uint64_t size = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    return hash_signed(v < 0, size < MODULUS ? size : size % MODULUS);
}

/* Return Python's hash of a float: a fraction modulo 2^61 - 1, where multiplying by a power of two rotates 61 bits. */
static uint64_t hash_float(double x) {
    int exponent;
    if (isnan(x)) return 0;
    if (isinf(x)) return hash_signed(x < 0, 314159);
    uint64_t digits = (uint64_t)ldexp(fabs(frexp(x, &exponent)), 53);
    int turn = (exponent - 53) % 61;
    if (turn < 0) turn += 61;
    uint64_t turned = ((digits << turn) & MODULUS) | digits >> (61 - turn);
    return hash_signed(x < 0, turned == MODULUS ? 0 : turned);
}

static uint64_t hash_next(const char **kind, const sc_value **leaf);

/* Return the hash of a tuple as in Python: xxHash over the hashes of the items. */
static const uint64_t HASH_START = UINT64_C(2870177450012600261);

static inline uint64_t hash_step(uint64_t sum, uint64_t item) {
    sum += item * UINT64_C(14029467366897019727);
    return (sum << 31 | sum >> 33) * UINT64_C(11400714785074694791);
}

static inline uint64_t hash_end(uint64_t sum, uint64_t n) {
    sum += n ^ HASH_START ^ 3527539;
    return sum == UINT64_MAX ? 1546275796 : sum;
}

static uint64_t hash_tuple(const char **kind, const sc_value **leaf) {
    uint64_t sum = HASH_START, n = 0;
    for (; **kind != ')'; n++) sum = hash_step(sum, hash_next(kind, leaf));
    ++*kind;
    return hash_end(sum, n);
}

/* Return the rest of `kind` after the form of one key or item. */
static const char *after_key(const char *kind) {
    int depth = 0;
    do depth += (*kind == '(' || *kind == '[') - (*kind == ')' || *kind == ']');
    while (kind++, depth);
    return kind;
}

/* Return the tuple that has the items of another one but the last. */
static inline sc_list *all_but_last(const sc_list *l) {
    return l->items ? (sc_list *)l : sc_tuple_parts(l)->front;
}

/* Return the leaves of item i of a tuple of any length. room: memory for an item that is stored as a byte. */
static inline const sc_value *item_leaves(const char *kind, const sc_list *l, int64_t i, sc_value *room) {
    if (!l->items && i == l->len - 1) {
        const sc_value *last = &sc_tuple_parts(l)->last;
        return *kind == '(' ? last->l->items : last;
    }
    l = all_but_last(l);
    if (*kind == 'b') return room->b = l->bools[i], room;
    return *kind == '(' ? l->items[i].l->items : &l->items[i];
}

/* Return the hash of a tuple of any length, which never changes: the sum over its items is kept. */
static uint64_t hash_items(const char *kind, sc_list *l) {
    if (l->hashed == l->len) return hash_end(l->len ? l->hash_sum : HASH_START, (uint64_t)l->len);
    if (!l->items) {
        sc_list *front = all_but_last(l);
        hash_items(kind, front);
        l->hashed = front->hashed;
        l->hash_sum = front->hash_sum;
    }
    uint64_t sum = l->hashed ? l->hash_sum : HASH_START;
    for (int64_t i = l->hashed; i < l->len; i++) {
        const char *form = kind;
        sc_value room;
        const sc_value *leaf = item_leaves(kind, l, i, &room);
        sum = hash_step(sum, *kind == 'i' ? hash_int(leaf->i) : hash_next(&form, &leaf));
    }
    l->hash_sum = sum;
    l->hashed = l->len;
    return hash_end(sum, (uint64_t)l->len);
}

static uint64_t hash_next(const char **kind, const sc_value **leaf) {
    const char *form = *kind;
    switch (*(*kind)++) {
    case '(': return hash_tuple(kind, leaf);
    case '[': return *kind = after_key(form), hash_items(form + 1, (*leaf)++->l);
    case 'i': return hash_int((*leaf)++->i);
    case 'f': return hash_float((*leaf)++->f);
    case 's': return sc_str_hash((*leaf)++->s) & (UINT64_MAX >> 1); /* Python's hash differs from process to process */
    default: return (*leaf)++->b;
    }
}

static inline uint64_t hash_key(const char *kind, const sc_value *leaves) {
    if (*kind == 'i') return hash_int(leaves->i);
    if (*kind == '[') return hash_items(kind + 1, leaves->l);
    return hash_next(&kind, &leaves);
}

SC_KERNEL int64_t sc_hash(const char *kind, const sc_value *key) { return (int64_t)hash_key(kind, key); }

static inline const sc_value *leaves_of(const sc_dict *d, const sc_item *item) {
    return d->kind[0] == '(' ? item->key.l->items : &item->key;
}

static bool same_items(const char *kind, const sc_list *a, const sc_list *b);

/* Return whether two keys are equal. Two NaN are equal, since numbers have no identity that could tell them apart. */
static bool same_key(const char *kind, const sc_value *a, const sc_value *b) {
    for (; *kind && *kind != ']'; kind++) {
        if (*kind == '(' || *kind == ')') continue;
        if (*kind == '[') {
            if (!same_items(kind + 1, a++->l, b++->l)) return false;
            kind = after_key(kind) - 1;
            continue;
        }
        bool same = *kind == 'i'   ? a->i == b->i
                    : *kind == 'f' ? a->f == b->f || (isnan(a->f) && isnan(b->f))
                    : *kind == 's' ? sc_str_equal(a->s, b->s)
                                   : a->b == b->b;
        if (!same) return false;
        a++, b++;
    }
    return true;
}

static bool same_items(const char *kind, const sc_list *a, const sc_list *b) {
    if (a == b) return true;
    if (a->len != b->len) return false;
    sc_value x, y;
    const sc_list *front = all_but_last(a), *other = all_but_last(b);
    int64_t i = front == other ? a->len - 1 : 0; /* they are one tuple if both keys are in parts */
    if (*kind == 'i' && front != other)
        for (; i < a->len - 1; i++)
            if (front->items[i].i != other->items[i].i) return false;
    for (; i < a->len; i++)
        if (!same_key(kind, item_leaves(kind, a, i, &x), item_leaves(kind, b, i, &y))) return false;
    return true;
}

static inline bool same_item(const sc_dict *d, const sc_item *item, const sc_value *key) {
    if (d->kind[0] == 'i') return item->key.i == key->i;
    return same_key(d->kind, key, leaves_of(d, item));
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
        } else if (d->items[number].hash == hash && same_item(d, &d->items[number], key)) {
            *slot = p.at;
            return number;
        }
    }
}

static uint64_t slot_of(const sc_dict *d, int64_t number) {
    probe p = probe_first(d, d->items[number].hash);
    while (d->slot[p.at] != number) probe_next(d, &p);
    return p.at;
}

/* Enter an item that has no slot into a table without dummies. */
static void enter(sc_dict *d, int64_t number) {
    probe p = probe_first(d, d->items[number].hash);
    while (d->slot[p.at] != EMPTY) probe_next(d, &p);
    d->slot[p.at] = (int32_t)number;
}

static void fill_empty(sc_dict *d) {
    for (uint64_t i = 0; i <= d->mask; i++) d->slot[i] = EMPTY;
    d->fill = 0;
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
    sc_memory(cx, old, old_size * sizeof *old, 0);
    return 0;
}

/* ---- items ---- */

/* Close the holes, and sort the items of a set by their slots. */
static int arrange(sc_ctx *cx, sc_dict *d) {
    if (!d->is_set) {
        int64_t to = 0;
        for (int64_t i = 0; i < d->n; i++) {
            if (d->items[i].hash == SC_HOLE) continue;
            if (i != to) {
                d->slot[slot_of(d, i)] = (int32_t)to;
                d->items[to] = d->items[i];
            }
            to++;
        }
        d->n = to;
        return 0;
    }
    int64_t cap = d->len ? d->len : 1, to = 0;
    sc_item *items = sc_memory(cx, NULL, 0, (size_t)cap * sizeof *items);
    if (!items) return -1;
    for (uint64_t i = 0; i <= d->mask; i++) {
        if (d->slot[i] < 0) continue;
        items[to] = d->items[d->slot[i]];
        d->slot[i] = (int32_t)to++;
    }
    sc_memory(cx, d->items, (size_t)d->cap * sizeof *items, 0);
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
    sc_item *items = sc_memory(cx, d->items, (size_t)d->cap * sizeof *items, (size_t)cap * sizeof *items);
    if (!items) return -1;
    d->items = items;
    d->cap = cap;
    return 0;
}

static void drop(sc_ctx *cx, const sc_dict *d, const sc_item *item) {
    if (sc_dict_counts_keys(d)) sc_release(cx, item->key.o);
    if (d->counted) sc_release(cx, item->value.o);
}

/* Make a key of its leaves: a value or a tuple. */
static int own_key(sc_ctx *cx, const sc_dict *d, const sc_value *leaves, sc_value *key) {
    if (d->kind[0] != '(') {
        *key = *leaves;
        if (sc_dict_counts_keys(d)) sc_retain(key->o);
        return 0;
    }
    int n = 0;
    uint32_t mask = 0;
    for (const char *k = d->kind; *k; k++) {
        if (*k == '(' || *k == ')') continue;
        mask |= (uint32_t)(*k == 's' || *k == '[') << n++;
        if (*k == '[') k = after_key(k) - 1;
    }
    return (key->l = sc_list_tuple(cx, mask, n, leaves)) ? 0 : -1;
}

/* Insert a new key. The dict takes over the reference to a key that is an object. */
static int insert(sc_ctx *cx, sc_dict *d, uint64_t hash, uint64_t slot, sc_value key, sc_value value) {
    bool fresh = d->slot[slot] == EMPTY;
    if (room_for_one(cx, d)) return -1;
    d->items[d->n] = (sc_item){hash, key, value};
    d->slot[slot] = (int32_t)d->n++;
    d->len++;
    d->changes++;
    d->written = true;
    d->sorted = false;
    if (d->counted) sc_retain(value.o);
    if (!fresh || (uint64_t)++d->fill * 5 < d->mask * 3) return 0;
    return resize(cx, d, (uint64_t)d->len * (d->len > LARGE ? 2 : 4));
}

static sc_dict *table_new(sc_ctx *cx, const char *kind, bool is_set, bool counted) {
    sc_dict *d = sc_object(cx, SC_DICT);
    if (!d) return NULL;
    d->is_set = is_set;
    d->counted = counted;
    d->written = d->sorted = false;
    d->kind = kind;
    d->owner = NULL;
    d->len = d->n = d->cap = d->changes = d->fill = 0;
    d->finger = 0;
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

SC_KERNEL sc_dict *sc_dict_new(sc_ctx *cx, const char *kind, bool counted) {
    return table_new(cx, kind, false, counted);
}

SC_KERNEL sc_dict *sc_set_new(sc_ctx *cx, const char *kind) {
    return table_new(cx, kind, true, false);
}

SC_KERNEL int64_t sc_dict_find(const sc_dict *d, const sc_value *key) {
    uint64_t slot;
    return d->len ? look_up(d, hash_key(d->kind, key), key, &slot) : -1;
}

SC_KERNEL void sc_dict_put(sc_ctx *cx, sc_dict *d, int64_t number, sc_value value) {
    sc_value old = d->items[number].value;
    if (d->counted) sc_retain(value.o);
    d->items[number].value = value;
    d->written = true;
    if (d->counted) sc_release(cx, old.o);
}

SC_KERNEL int sc_dict_put_tuple(sc_ctx *cx, sc_dict *d, int64_t number, uint32_t mask, int n, const sc_value *leaves) {
    sc_list *old = d->items[number].value.l;
    if (old->obj.refs == 1 && !old->owner) {
        sc_tuple_set(cx, old, 0, n, leaves);
        d->written = true;
        return 0;
    }
    sc_list *made = sc_list_tuple(cx, mask, n, leaves);
    if (!made) return -1;
    sc_dict_put(cx, d, number, (sc_value){.l = made});
    sc_release(cx, made);
    return 0;
}

SC_KERNEL int sc_dict_enter(sc_ctx *cx, sc_dict *d, const sc_value *leaves, sc_value value, int64_t *number) {
    uint64_t slot, hash = hash_key(d->kind, leaves);
    sc_value key;
    *number = look_up(d, hash, leaves, &slot);
    if (*number >= 0) {
        sc_dict_put(cx, d, *number, value);
        return 0;
    }
    if (own_key(cx, d, leaves, &key) || insert(cx, d, hash, slot, key, value)) return -1;
    *number = d->n - 1;
    return 0;
}

SC_KERNEL int sc_dict_set(sc_ctx *cx, sc_dict *d, const sc_value *key, sc_value value) {
    int64_t number;
    return sc_dict_enter(cx, d, key, value, &number);
}

SC_KERNEL int sc_set_add(sc_ctx *cx, sc_dict *s, const sc_value *leaves) {
    uint64_t slot, hash = hash_key(s->kind, leaves);
    sc_value key;
    if (look_up(s, hash, leaves, &slot) >= 0) return 0;
    return own_key(cx, s, leaves, &key) ? -1 : insert(cx, s, hash, slot, key, (sc_value){0});
}

SC_KERNEL void sc_dict_remove(sc_ctx *cx, sc_dict *d, int64_t number) {
    sc_item gone = d->items[number];
    d->slot[slot_of(d, number)] = DUMMY;
    d->items[number].hash = SC_HOLE;
    while (d->n && d->items[d->n - 1].hash == SC_HOLE) d->n--;
    d->len--;
    d->changes++;
    d->written = true;
    d->sorted = false;
    drop(cx, d, &gone);
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
        if (d->items[i].hash != SC_HOLE) drop(cx, d, &d->items[i]);
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
    if (sc_dict_counts_keys(s)) sc_retain(item->key.o);
    return insert(cx, s, item->hash, slot, item->key, (sc_value){0});
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
        if (d->is_set && d->slot[i] >= 0) return &d->items[d->slot[i]];
        if (!d->is_set && d->items[i].hash != SC_HOLE) return &d->items[i];
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
            const sc_item *item = &other->items[other->slot[i]];
            if (sc_dict_counts_keys(s)) sc_retain(item->key.o);
            if (insert(cx, s, item->hash, i, item->key, (sc_value){0})) return -1;
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
    sc_value key;
    s->slot[slot] = DUMMY; /* `insert` does not count a dummy as one more slot */
    if (!leaves) return 0;
    return own_key(cx, s, leaves, &key) ? -1 : insert(cx, s, hash_key(s->kind, leaves), slot, key, (sc_value){0});
}
