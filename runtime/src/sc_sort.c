/* sc_sort.c - the order of sorting along one dim, and of its first elements: NaN being the largest.
 *
 * Elements become unsigned keys in whose order they are to come. Keys of up to 32 bits are sorted together with their positions, as
 * one 64-bit number each; wider ones as pairs. Both go through a radix sort from the lowest byte up, which leaves out bytes that
 * are the same everywhere, or, where they are few, through insertion, and are stable. Where that is not asked for and several
 * elements are equal, their order is found again in eager's way (sc_select_tile.inc). */
#include "sc_internal.h"

enum { SORT_FEW = 48, SORT_BLOCK = 32, SORT_INSERTED = 16, SELECT_FEW = 16 };

typedef struct sort_pair { uint64_t key, at; } sort_pair;

#define T uint64_t
#define KEY(x) ((x) >> 32) /* the low half is the position, which keeps equal keys in order */
#define BYTES 4
#define LESS(a, b) ((a) < (b))
#define N(name) sort_##name##_one
#include "sc_sort_tile.inc"
#define T sort_pair
#define KEY(x) ((x).key)
#define BYTES 8
#define LESS(a, b) ((a).key < (b).key)
#define N(name) sort_##name##_pair
#include "sc_sort_tile.inc"

/* Return how often the C++ library partitions n elements before it falls back to a heap. */
static int select_turns(int64_t n) {
    return n > 0 ? 2 * (63 - __builtin_clzll((uint64_t)n)) : 0;
}

#define T uint64_t
#define KEY(x) ((x) >> 32)
#define N(name) select_##name##_one
#include "sc_select_tile.inc"
#define T sort_pair
#define KEY(x) ((x).key)
#define N(name) select_##name##_pair
#include "sc_select_tile.inc"

/* ---- keys ---- */

static inline uint32_t key_of_float(uint32_t bits) {
    bits = (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : (bits & 0x7fffffffu) == 0 ? 0 : bits; /* one NaN, one zero */
    return bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u);
}
static inline uint64_t key_of_double(uint64_t bits) {
    const uint64_t sign = 1ull << 63, infinity = 0x7ffull << 52;
    bits = (bits & ~sign) > infinity ? ~sign : (bits & ~sign) == 0 ? 0 : bits;
    return bits ^ (bits >> 63 ? ~0ull : sign);
}

/* Convert a contiguous line of floats to keys. */
static void keys_of_floats(const uint32_t *x, int64_t n, uint32_t flip, uint32_t *key) {
    for (int64_t i = 0; i < n; i++) key[i] = key_of_float(x[i]) ^ flip;
}

static void pairs_of(const void *x, int dtype, int64_t n, uint64_t flip, sort_pair *to) {
    const uint64_t *bits = x;
    for (int64_t i = 0; i < n; i++) {
        uint64_t key = dtype == SC_F64 ? key_of_double(bits[i]) : bits[i] ^ 1ull << 63;
        to[i] = (sort_pair){key ^ flip, (uint64_t)i};
    }
}

/* ---- the first k of n keys ---- */

/* Sort n elements, keep the first k in a, and return the key of the last of these. */
static uint32_t keep_first(uint64_t *a, uint64_t *spare, int64_t n, int64_t k) {
    const uint64_t *sorted = sort_all_one(a, spare, n);
    if (sorted != a) memcpy(a, sorted, (size_t)k * sizeof *a);
    return (uint32_t)(a[k - 1] >> 32);
}

/* Return the start of the first block from i on that has a key below the limit, or an index less than a block from n if
 * there is none. Most keys are compared only here. */
static int64_t skip_blocks(const uint32_t *key, int64_t i, int64_t n, uint32_t limit) {
    for (; i + SORT_BLOCK <= n; i += SORT_BLOCK) {
        uint32_t least = UINT32_MAX;
        for (int l = 0; l < SORT_BLOCK; l++) least = key[i + l] < least ? key[i + l] : least;
        if (least < limit) break;
    }
    return i;
}

/* Find the k smallest keys, sorted, in a, by insertion; 0 < k <= n. */
static void smallest_few(const uint32_t *key, int64_t n, int64_t k, uint64_t *a) {
    for (int64_t i = 0; i < k; i++) a[i] = (uint64_t)key[i] << 32 | (uint64_t)i;
    sort_insert_one(a, k);
    uint32_t limit = (uint32_t)(a[k - 1] >> 32);
    for (int64_t i = k, end; i < n;) {
        i = skip_blocks(key, i, n, limit);
        for (end = i + SORT_BLOCK < n ? i + SORT_BLOCK : n; i < end; i++) {
            if (key[i] >= limit) continue;
            uint64_t v = (uint64_t)key[i] << 32 | (uint64_t)i;
            int64_t j = k - 1;
            for (; j > 0 && v < a[j - 1]; j--) a[j] = a[j - 1];
            a[j] = v;
            limit = (uint32_t)(a[k - 1] >> 32);
        }
    }
}

/* Find the k smallest keys for larger k. Keys smaller than the k-th so far are collected after the k, and sorted in
 * when they are many. */
static void smallest_keys(const uint32_t *key, int64_t n, int64_t k, uint64_t *a, uint64_t *spare) {
    int64_t room = 2 * k + SORT_FEW < n ? 2 * k + SORT_FEW : n, count = room;
    for (int64_t i = 0; i < room; i++) a[i] = (uint64_t)key[i] << 32 | (uint64_t)i;
    uint32_t limit = keep_first(a, spare, count, k);
    count = k;
    for (int64_t i = room, end; i < n;) {
        i = skip_blocks(key, i, n, limit);
        for (end = i + SORT_BLOCK < n ? i + SORT_BLOCK : n; i < end; i++) {
            if (key[i] >= limit) continue;
            a[count++] = (uint64_t)key[i] << 32 | (uint64_t)i;
            if (count < room) continue;
            limit = keep_first(a, spare, count, k);
            count = k;
        }
    }
    keep_first(a, spare, count, k);
}

/* ---- lines ---- */

typedef struct sort_work { /* memory for one line: n keys and twice n elements */
    uint32_t *key;
    void *elements, *spare;
} sort_work;

typedef struct sort_how {
    int64_t k; /* number of requested elements; of KTH, the last alone */
    enum { SORT_STABLE, SORT_ALL, SORT_FIRST, SORT_UNSORTED, SORT_KTH } kind;
    bool descending;
} sort_how;

static void keyed(const uint32_t *key, int64_t n, uint64_t *to) {
    for (int64_t i = 0; i < n; i++) to[i] = (uint64_t)key[i] << 32 | (uint64_t)i;
}

/* Write the positions of the first k of n wide elements, in eager's order. */
static void select_pairs(const sort_work *w, const void *x, int dtype, int64_t n, sort_how how, int64_t *to) {
    sort_pair *pairs = w->elements;
    pairs_of(x, dtype, n, how.descending ? ~0ull : 0, pairs);
    if (how.kind == SORT_KTH) {
        to[0] = (int64_t)select_kth_pair(pairs, n, how.k - 1).at;
        return;
    }
    if (how.kind == SORT_ALL) select_sort_pair(pairs, n);
    else select_first_pair(pairs, n, how.k, how.kind == SORT_FIRST);
    for (int64_t i = 0; i < how.k; i++) to[i] = (int64_t)pairs[i].at;
}

static void sort_pairs(const sort_work *w, const void *x, int dtype, int64_t n, sort_how how, int64_t *to) {
    pairs_of(x, dtype, n, how.descending ? ~0ull : 0, w->elements);
    const sort_pair *sorted = sort_all_pair(w->elements, w->spare, n);
    bool tied = false;
    for (int64_t i = 0; i < how.k; i++) {
        to[i] = (int64_t)sorted[i].at;
        tied |= i + 1 < n && sorted[i].key == sorted[i + 1].key;
    }
    if (tied && how.kind != SORT_STABLE) select_pairs(w, x, dtype, n, how, to);
}

/* Sort keys of 32 bits. */
static void select_keys(const sort_work *w, int64_t n, sort_how how, int64_t *to) {
    uint64_t *one = w->elements;
    keyed(w->key, n, one);
    if (how.kind == SORT_KTH) {
        to[0] = (int64_t)(uint32_t)select_kth_one(one, n, how.k - 1);
        return;
    }
    if (how.kind == SORT_ALL) select_sort_one(one, n);
    else select_first_one(one, n, how.k, how.kind == SORT_FIRST);
    for (int64_t i = 0; i < how.k; i++) to[i] = (int64_t)(uint32_t)one[i];
}

/* Return whether two of the first k sorted elements are equal, or the last of them equals one that is not among
 * them. */
static bool has_ties(const uint64_t *sorted, const uint32_t *key, int64_t n, int64_t k) {
    bool tied = false;
    for (int64_t i = 1; i < k; i++) tied |= sorted[i - 1] >> 32 == sorted[i] >> 32;
    uint32_t last = (uint32_t)(sorted[k - 1] >> 32);
    int64_t equal = 0;
    for (int64_t i = 0; i < n && !tied; i++) equal += key[i] == last;
    return tied || equal > 1;
}

static void sort_keys(const sort_work *w, int64_t n, sort_how how, int64_t *to) {
    uint64_t *one = w->elements;
    const uint64_t *sorted = one;
    if (how.k <= SORT_INSERTED) smallest_few(w->key, n, how.k, one);
    else if (how.k <= n / 8) smallest_keys(w->key, n, how.k, one, w->spare);
    else {
        keyed(w->key, n, one);
        sorted = sort_all_one(one, w->spare, n);
    }
    for (int64_t i = 0; i < how.k; i++) to[i] = (int64_t)(uint32_t)sorted[i];
    if (how.kind != SORT_STABLE && has_ties(sorted, w->key, n, how.k)) select_keys(w, n, how, to);
}

/* Write the positions of the first k of n elements to `to`. */
static void sort_line(const sort_work *w, const void *x, int dtype, int64_t n, sort_how how, int64_t *to) {
    bool selects = how.kind == SORT_UNSORTED || how.kind == SORT_KTH;
    if (how.k == 0) return;
    if (dtype != SC_F32) {
        (selects ? select_pairs : sort_pairs)(w, x, dtype, n, how, to);
        return;
    }
    keys_of_floats(x, n, how.descending ? ~0u : 0, w->key);
    (selects ? select_keys : sort_keys)(w, n, how, to);
}

/* Return the number of requested positions of each line. */
static int64_t sort_length(sort_how how) {
    return how.kind == SORT_KTH ? 1 : how.k;
}

/* Sort the lines of the contiguous x [rows, n] into out [rows, length]. */
static void sort_rows(const sort_work *w, const sc_tensor *x, int64_t n, sort_how how, int64_t *out) {
    for (int64_t i = 0; i < x->numel / n; i++)
        sort_line(w, (const char *)x->data + (size_t)(i * n) * sc_dtype_size(x->dtype), x->dtype, n, how, out + i * sort_length(how));
}

/* Return the order along the last dim. Takes over the reference to x, which may be NULL. */
static sc_tensor *sort_last(sc_ctx *cx, sc_tensor *x, sort_how how) {
    if (!x) return NULL;
    bool narrow = x->dtype == SC_F16 || x->dtype == SC_BF16 || x->dtype == SC_F32;
    int dtype = narrow ? SC_F32 : x->dtype == SC_F64 ? SC_F64 : SC_I64;
    int64_t n = x->rank ? x->size[x->rank - 1] : 1, size[SC_MAX_RANK];
    memcpy(size, x->size, sizeof size);
    if (x->rank) size[x->rank - 1] = sort_length(how);
    sc_tensor *wide = sc_to_dtype(cx, x, dtype), *in = wide ? sc_contiguous(cx, wide) : NULL;
    sc_tensor *out = in ? sc_empty(cx, SC_I64, x->rank, size) : NULL;
    const int64_t words[1] = {narrow ? n / 2 + 1 + 2 * n : 4 * n};
    bool fits = !narrow || n <= UINT32_MAX;
    if (!fits) sc_raise(cx, "RuntimeError", "sorting more than 2^32 elements is not supported");
    sc_tensor *room = out && fits ? sc_empty(cx, SC_I64, 1, words) : NULL;
    if (room && out->numel) {
        uint64_t *from = room->data, *elements = from + (narrow ? n / 2 + 1 : 0);
        sort_work w = {(uint32_t *)room->data, elements, elements + (narrow ? n : 2 * n)};
        sort_rows(&w, in, n, how, out->data);
    }
    if (!room) {
        sc_release(cx, out);
        out = NULL;
    }
    sc_release(cx, x);
    sc_release(cx, wide);
    sc_release(cx, in);
    sc_release(cx, room);
    return out;
}

/* Return the first k positions along dim d, contiguous. If d is not the last dim, it is moved there and back. */
static sc_tensor *sort_along(sc_ctx *cx, const sc_tensor *x, int d, sort_how how) {
    if (d + 1 >= x->rank) {
        sc_retain((sc_tensor *)x);
        return sort_last(cx, (sc_tensor *)x, how);
    }
    if (x->numel == 0) { /* the transpose of an empty tensor counts as contiguous, with other strides */
        int64_t size[SC_MAX_RANK];
        memcpy(size, x->size, sizeof size);
        size[d] = sort_length(how);
        return sc_empty(cx, SC_I64, x->rank, size);
    }
    sc_tensor *sorted = sort_last(cx, sc_transpose(cx, x, d, x->rank - 1), how);
    sc_tensor *back = sorted ? sc_transpose(cx, sorted, d, x->rank - 1) : NULL, *out = back ? sc_plain(cx, back) : NULL;
    sc_release(cx, sorted);
    sc_release(cx, back);
    return out;
}

SC_KERNEL sc_tensor *sc_argsort(sc_ctx *cx, const sc_tensor *x, int64_t dim, bool descending, bool stable) {
    int d = sc_wrap_dim(cx, dim, x->rank);
    const sort_how how = {d < 0 || !x->rank ? 1 : x->size[d], stable ? SORT_STABLE : SORT_ALL, descending};
    sc_tensor *order = d < 0 ? NULL : sort_along(cx, x, d, how);
    if (!order || sc_is_contiguous(x)) return order;
    sc_tensor *like = sc_empty_like(cx, x, SC_I64); /* in x's strides, as in eager */
    int failed = !like || sc_copy_into(cx, like, order);
    sc_release(cx, order);
    if (!failed) return like;
    sc_release(cx, like);
    return NULL;
}

SC_KERNEL sc_tensor *sc_topk(sc_ctx *cx, const sc_tensor *x, int64_t k, int64_t dim, bool largest, bool sorted) {
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0) return NULL;
    if (k < 0 || k > (x->rank ? x->size[d] : 1)) {
        sc_raise(cx, "RuntimeError", "selected index k out of range");
        return NULL;
    }
    return sort_along(cx, x, d, (sort_how){x->rank ? k : 1, sorted ? SORT_FIRST : SORT_UNSORTED, largest});
}

SC_KERNEL sc_tensor *sc_kthvalue(sc_ctx *cx, const sc_tensor *x, int64_t k, int64_t dim) {
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0) return NULL;
    if (k < 1 || k > (x->rank ? x->size[d] : 1)) {
        sc_raise(cx, "RuntimeError", "kthvalue(): selected number k out of range for dimension %d", d);
        return NULL;
    }
    return sort_along(cx, x, d, (sort_how){k, SORT_KTH, false});
}
