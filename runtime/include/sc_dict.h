/* sc_dict.h - dicts: hashes of keys that are tuples, and lookups that compiled code has in line. */
#ifndef SC_DICT_H
#define SC_DICT_H
#include "sc_kernels.h"

enum {
    SC_EMPTY = -1, /* a slot that was never used */
    SC_PROBES = 9  /* slots behind the first one that are probed before those of other bits of a hash */
};
#define SC_HASH_MODULUS ((UINT64_C(1) << 61) - 1) /* of numbers: smaller ints are their own hash */

/* Hashes of tuples as in Python: xxHash over the hashes of the items. */
static inline uint64_t sc_hash_step(uint64_t sum, uint64_t item) {
    sum += item * UINT64_C(14029467366897019727);
    return (sum << 31 | sum >> 33) * UINT64_C(11400714785074694791);
}

static inline uint64_t sc_hash_end(uint64_t sum, uint64_t n) {
    sum += n ^ SC_HASH_START ^ 3527539;
    return sum == UINT64_MAX ? 1546275796 : sum;
}

static inline int sc_dict_whole_key(sc_ctx *cx, sc_dict *d, int64_t number, int stride) {
    return sc_in_parts(sc_dict_item(d, number, stride)->key) ? sc_dict_join_key(cx, d, number) : 0;
}

/* Replace the value of a key, which is kept in line: n leaves from `at` on. */
static inline void sc_dict_put_leaves(sc_dict *d, int64_t number, int stride, int at, int n, const sc_value *leaves) {
    sc_value *value = sc_dict_row(d, number, stride) + at;
    for (int i = 0; i < n; i++) value[i] = leaves[i];
    d->written = true;
}

/* ---- a key is looked up, and entered if it is absent ----
 * The number of the item is written, and the result is 1 if the key was absent. The value has `width` leaves: numbers. */

/* Enter an item at an empty slot, where n < room. */
static inline sc_item *sc_dict_add_item(sc_dict *d, uint64_t slot, uint64_t hash, sc_value key, int stride, int64_t *number) {
    sc_item *item = sc_dict_item(d, d->n, stride);
    *item = (sc_item){hash, key};
    d->slot[slot] = (int32_t)(*number = d->n++);
    d->fill++;
    d->len++;
    d->changes++;
    d->written = true;
    return item;
}

static inline void sc_dict_begin_value(const sc_dict *d, int64_t number, int stride, int width, const sc_value *value) {
    sc_value *to = sc_dict_row(d, number + 1, stride) - width;
    for (int i = 0; i < width; i++) to[i] = value[i];
}

static inline int sc_dict_reach(sc_ctx *cx, sc_dict *d, const sc_value *key, int stride, int width, const sc_value *value,
                                int64_t *number) {
    int64_t placed; /* no other function has a pointer to `number`, which is in a register then */
    int entered = sc_dict_place(cx, d, key, &placed);
    *number = placed;
    if (entered > 0) sc_dict_begin_value(d, placed, stride, width, value);
    return entered;
}

/* Return the slot behind those that a hash probes first, one behind the other. */
static inline uint64_t sc_dict_probe_end(const sc_dict *d, uint64_t first) {
    return first + SC_PROBES <= d->mask ? first + SC_PROBES + 1 : first + 1;
}

static inline int sc_dict_reach_int(sc_ctx *cx, sc_dict *d, int64_t key, int stride, int width, const sc_value *value,
                                    int64_t *number) {
    int entered = -1;
    bool is_hash = (uint64_t)key < SC_HASH_MODULUS;
    uint64_t slot = (uint64_t)key & d->mask, end = is_hash ? sc_dict_probe_end(d, slot) : slot;
    for (; slot < end; slot++) {
        int32_t found = d->slot[slot];
        if (found < 0) {
            if (found != SC_EMPTY || d->n >= d->room) break;
            sc_dict_add_item(d, slot, (uint64_t)key, (sc_value){.i = key}, stride, number);
            entered = 1;
            break;
        }
        if (sc_dict_item(d, found, stride)->key.i != key) continue;
        *number = found;
        return 0;
    }
    if (entered < 0) return sc_dict_reach(cx, d, &(sc_value){.i = key}, stride, width, value, number);
    sc_dict_begin_value(d, *number, stride, width, value);
    return entered;
}

/* Look up `front + (last,)`, a tuple of ints. A key with the same hash that does not consist of `front` and `last` is left to
 * sc_dict_place. */
static inline int sc_dict_reach_parts(sc_ctx *cx, sc_dict *d, sc_list *front, int64_t last, int stride, int width,
                                      const sc_value *value, int64_t *number) {
    int entered = -1;
    bool is_hash = (uint64_t)last < SC_HASH_MODULUS && front->hashed == front->len;
    uint64_t hash = sc_hash_step(front->hash_sum, (uint64_t)last);
    hash = sc_hash_end(hash, (uint64_t)front->len + 1);
    uint64_t slot = hash & d->mask, end = is_hash ? sc_dict_probe_end(d, slot) : slot;
    for (; slot < end; slot++) {
        int32_t found = d->slot[slot];
        if (found < 0) {
            if (found != SC_EMPTY || d->n >= d->room) break;
            sc_item *item = sc_dict_add_item(d, slot, hash, (sc_value){.p = sc_front_of_parts(front)}, stride, number);
            (&item->key)[1].i = last;
            sc_retain(front);
            entered = 1;
            break;
        }
        const sc_value *row = sc_dict_row(d, found, stride);
        if ((uint64_t)row[0].i != hash) continue;
        if (row[1].p != sc_front_of_parts(front) || row[2].i != last) break;
        *number = found;
        return 0;
    }
    if (entered < 0) {
        const sc_value parts[] = {{.p = sc_front_of_parts(front)}, {.i = last}};
        return sc_dict_reach(cx, d, parts, stride, width, value, number);
    }
    sc_dict_begin_value(d, *number, stride, width, value);
    return entered;
}
#endif
