/* sc_keys.h - hashes and equality of the keys of dicts and sets, as in Python, for sc_dict.c. */
#ifndef SC_KEYS_H
#define SC_KEYS_H
#include <math.h>

#include "../include/sc_dict.h"
#include "../include/sc_ops.h"
#include "../include/sc_str.h"

static inline uint64_t hash_signed(bool negative, uint64_t h) {
    if (negative) h = 0 - h;
    return h == UINT64_MAX ? UINT64_MAX - 1 : h; /* -1 means failure in Python, which uses -2 for it */
}

static inline uint64_t hash_int(int64_t v) {
    uint64_t size = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    return hash_signed(v < 0, size < SC_HASH_MODULUS ? size : size % SC_HASH_MODULUS);
}

/* Return Python's hash of a float: a fraction modulo 2^61 - 1, where multiplying by a power of two rotates 61 bits. */
static uint64_t hash_float(double x) {
    int exponent;
    if (isnan(x)) return 0;
    if (isinf(x)) return hash_signed(x < 0, 314159);
    uint64_t digits = (uint64_t)ldexp(fabs(frexp(x, &exponent)), 53);
    int turn = (exponent - 53) % 61;
    if (turn < 0) turn += 61;
    uint64_t turned = ((digits << turn) & SC_HASH_MODULUS) | digits >> (61 - turn);
    return hash_signed(x < 0, turned == SC_HASH_MODULUS ? 0 : turned);
}

static uint64_t hash_next(const char **kind, const sc_value **leaf);

/* Return the hash of a tuple. */
static uint64_t hash_tuple(const char **kind, const sc_value **leaf) {
    uint64_t sum = SC_HASH_START, n = 0;
    for (; **kind != ')'; n++) sum = sc_hash_step(sum, hash_next(kind, leaf));
    ++*kind;
    return sc_hash_end(sum, n);
}

/* Return the rest of `kind` after the form of one key or item. */
static const char *after_key(const char *kind) {
    int depth = 0;
    do depth += (*kind == '(' || *kind == '[') - (*kind == ')' || *kind == ']');
    while (kind++, depth);
    return kind;
}

/* Return the leaves of item i of a tuple of any length. room: memory for an item that is stored as a byte. */
static inline const sc_value *item_leaves(const char *kind, const sc_list *l, int64_t i, sc_value *room) {
    if (*kind == 'b') return room->b = l->bools[i], room;
    return *kind == '(' ? l->items[i].l->items : &l->items[i];
}

static inline uint64_t hash_item(const char *kind, const sc_value *leaf) {
    return *kind == 'i' ? hash_int(leaf->i) : hash_next(&kind, &leaf);
}

static void sum_items(const char *kind, sc_list *l) {
    uint64_t sum = l->hash_sum;
    for (int64_t i = l->hashed; i < l->len; i++) {
        sc_value room;
        sum = sc_hash_step(sum, hash_item(kind, item_leaves(kind, l, i, &room)));
    }
    l->hash_sum = sum;
    l->hashed = l->len;
}

/* Return the hash of a tuple of any length, which never changes: the sum over its items is kept. */
static inline uint64_t hash_items(const char *kind, sc_list *l) {
    if (l->hashed < l->len) sum_items(kind, l);
    return sc_hash_end(l->hash_sum, (uint64_t)l->len);
}

/* Return the leaves of the last item of a key in parts. */
static inline const sc_value *last_leaves(const char *kind, const sc_value *key) {
    return *kind == '(' ? key[1].l->items : &key[1];
}

static inline uint64_t hash_parts(const char *kind, const sc_value *key) {
    sc_list *front = sc_key_front(*key);
    if (front->hashed < front->len) sum_items(kind, front);
    uint64_t sum = front->hash_sum;
    return sc_hash_end(sc_hash_step(sum, hash_item(kind, last_leaves(kind, key))), (uint64_t)front->len + 1);
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

static __attribute__((noinline)) uint64_t hash_object(const char *kind, const sc_value *leaves) {
    if (*kind == '(') return kind++, hash_tuple(&kind, &leaves);
    if (*kind == '[') return sc_in_parts(*leaves) ? hash_parts(kind + 1, leaves) : hash_items(kind + 1, leaves->l);
    return hash_next(&kind, &leaves);
}

static inline uint64_t hash_key(const char *kind, const sc_value *leaves) {
    return *kind == 'i' ? hash_int(leaves->i) : hash_object(kind, leaves);
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

/* Return whether the first n items of two tuples are equal. */
static bool same_first(const char *kind, const sc_list *a, const sc_list *b, int64_t n) {
    sc_value x, y;
    int64_t i = a == b ? n : 0;
    if (*kind == 'i')
        for (; i < n; i++)
            if (a->items[i].i != b->items[i].i) return false;
    for (; i < n; i++)
        if (!same_key(kind, item_leaves(kind, a, i, &x), item_leaves(kind, b, i, &y))) return false;
    return true;
}

static bool same_items(const char *kind, const sc_list *a, const sc_list *b) {
    return a->len == b->len && same_first(kind, a, b, a->len);
}

/* Return whether two keys that are tuples of any length, and may be in parts, are equal. */
static bool same_tuples(const char *kind, const sc_value *a, const sc_value *b) {
    bool a_parts = sc_in_parts(*a), b_parts = sc_in_parts(*b);
    const sc_list *of_a = a_parts ? sc_key_front(*a) : a->l, *of_b = b_parts ? sc_key_front(*b) : b->l;
    if (of_a->len + a_parts != of_b->len + b_parts) return false;
    if (!a_parts && !b_parts) return same_first(kind, of_a, of_b, of_a->len);
    int64_t last = of_a->len + a_parts - 1;
    sc_value x, y;
    return same_key(kind, a_parts ? last_leaves(kind, a) : item_leaves(kind, of_a, last, &x),
                    b_parts ? last_leaves(kind, b) : item_leaves(kind, of_b, last, &y)) &&
           same_first(kind, of_a, of_b, last);
}
#endif
