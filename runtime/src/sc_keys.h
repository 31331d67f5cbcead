/* sc_keys.h - hashes and equality of the keys of dicts and sets, as in Python, for sc_dict.c. */
#ifndef SC_KEYS_H
#define SC_KEYS_H
#include <math.h>

#include "../include/sc_ops.h"
#include "../include/sc_str.h"

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

static void sum_items(const char *kind, sc_list *l) {
    if (!l->items && l->hashed < l->len - 1) {
        sc_list *front = all_but_last(l);
        sum_items(kind, front);
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
}

/* Return the hash of a tuple of any length, which never changes: the sum over its items is kept. */
static inline uint64_t hash_items(const char *kind, sc_list *l) {
    if (l->hashed < l->len) sum_items(kind, l);
    return hash_end(l->len ? l->hash_sum : HASH_START, (uint64_t)l->len);
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
#endif
