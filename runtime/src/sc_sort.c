/* sc_sort.c - the order of sorting along one dim, and of its first elements: stable, NaN being the largest.
 *
 * Elements become unsigned keys in whose order they are to come. Keys of up to 32 bits are sorted together with their positions, as
 * one 64-bit number each; wider ones as pairs. Both go through a radix sort from the lowest byte up, which leaves out bytes that
 * are the same everywhere, or, where they are few, through insertion. */
#include "sc_internal.h"

enum { SORT_FEW = 48, SORT_BLOCK = 32, SORT_INSERTED = 16 };

typedef struct sort_pair { uint64_t key, at; } sort_pair;

#define T uint64_t
#define KEY(x) ((x) >> 32) /* the position is below, and keeps equal keys in order */
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

/* A line is contiguous, of float, double or int64. */
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

/* Sorts n elements, keeps the first k in a, and returns the key of the last of these. */
static uint32_t keep_first(uint64_t *a, uint64_t *spare, int64_t n, int64_t k) {
    const uint64_t *sorted = sort_all_one(a, spare, n);
    if (sorted != a) memcpy(a, sorted, (size_t)k * sizeof *a);
    return (uint32_t)(a[k - 1] >> 32);
}

/* Where the next block of keys begins, from i on, in which one is below the limit; less than a block from n, where there is none.
 * Most keys are seen only here. */
static int64_t skip_blocks(const uint32_t *key, int64_t i, int64_t n, uint32_t limit) {
    for (; i + SORT_BLOCK <= n; i += SORT_BLOCK) {
        uint32_t least = UINT32_MAX;
        for (int l = 0; l < SORT_BLOCK; l++) least = key[i + l] < least ? key[i + l] : least;
        if (least < limit) break;
    }
    return i;
}

/* The k smallest, sorted, in a, 0 < k <= n, by insertion. */
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

/* The same for more of them: what is smaller than the k-th so far is collected behind the k until there is much of it. */
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

typedef struct sort_work { /* of one line: room for n keys and twice n elements */
    uint32_t *key;
    void *elements, *spare;
} sort_work;

/* The positions of the first k of n elements in order, to `to`. */
static void sort_line(const sort_work *w, const void *x, int dtype, int64_t n, int64_t k, bool descending, int64_t *to) {
    if (dtype != SC_F32) {
        pairs_of(x, dtype, n, descending ? ~0ull : 0, w->elements);
        const sort_pair *sorted = sort_all_pair(w->elements, w->spare, n);
        for (int64_t i = 0; i < k; i++) to[i] = (int64_t)sorted[i].at;
        return;
    }
    uint64_t *one = w->elements;
    const uint64_t *sorted = one;
    keys_of_floats(x, n, descending ? ~0u : 0, w->key);
    if (k > 0 && k <= SORT_INSERTED) smallest_few(w->key, n, k, one);
    else if (k > 0 && k <= n / 8) smallest_keys(w->key, n, k, one, w->spare);
    else {
        for (int64_t i = 0; i < n; i++) one[i] = (uint64_t)w->key[i] << 32 | (uint64_t)i;
        sorted = sort_all_one(one, w->spare, n);
    }
    for (int64_t i = 0; i < k; i++) to[i] = (int64_t)(uint32_t)sorted[i];
}

/* The rows first..last-1 of x [rows, n], contiguous; out [rows, k] */
static void sort_rows(const sort_work *w, const sc_tensor *x, int64_t n, int64_t k, bool descending, int64_t *out, int64_t first,
                      int64_t last) {
    for (int64_t i = first; i < last; i++)
        sort_line(w, (const char *)x->data + (size_t)(i * n) * sc_dtype_size(x->dtype), x->dtype, n, k, descending, out + i * k);
}

/* The order of the last dim. Takes over the reference to x, which may be NULL. */
static sc_tensor *sort_last(sc_ctx *cx, sc_tensor *x, int64_t k, bool descending) {
    if (!x) return NULL;
    bool narrow = x->dtype == SC_F16 || x->dtype == SC_BF16 || x->dtype == SC_F32;
    int dtype = narrow ? SC_F32 : x->dtype == SC_F64 ? SC_F64 : SC_I64;
    int64_t n = x->rank ? x->size[x->rank - 1] : 1, size[SC_MAX_RANK];
    memcpy(size, x->size, sizeof size);
    if (x->rank) size[x->rank - 1] = k;
    sc_tensor *wide = sc_to_dtype(cx, x, dtype), *in = wide ? sc_contiguous(cx, wide) : NULL;
    sc_tensor *out = in ? sc_empty(cx, SC_I64, x->rank, size) : NULL;
    const int64_t words[1] = {narrow ? n / 2 + 1 + 2 * n : 4 * n};
    bool fits = !narrow || n <= UINT32_MAX;
    if (!fits) sc_raise(cx, "RuntimeError", "sorting more than 2^32 elements is not supported");
    sc_tensor *room = out && fits ? sc_empty(cx, SC_I64, 1, words) : NULL;
    if (room && out->numel) {
        uint64_t *from = room->data, *elements = from + (narrow ? n / 2 + 1 : 0);
        sort_work w = {(uint32_t *)room->data, elements, elements + (narrow ? n : 2 * n)};
        sort_rows(&w, in, n, k, descending, out->data, 0, x->numel / n);
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

/* The first k positions along dim d, contiguous: another dim than the last is brought there and back. */
static sc_tensor *sort_along(sc_ctx *cx, const sc_tensor *x, int d, int64_t k, bool descending) {
    if (d + 1 >= x->rank) {
        sc_retain((sc_tensor *)x);
        return sort_last(cx, (sc_tensor *)x, k, descending);
    }
    if (x->numel == 0) { /* whose transposed counts as contiguous, with other strides */
        int64_t size[SC_MAX_RANK];
        memcpy(size, x->size, sizeof size);
        size[d] = k;
        return sc_empty(cx, SC_I64, x->rank, size);
    }
    sc_tensor *sorted = sort_last(cx, sc_transpose(cx, x, d, x->rank - 1), k, descending);
    sc_tensor *back = sorted ? sc_transpose(cx, sorted, d, x->rank - 1) : NULL, *out = back ? sc_contiguous(cx, back) : NULL;
    sc_release(cx, sorted);
    sc_release(cx, back);
    return out;
}

SC_KERNEL sc_tensor *sc_argsort(sc_ctx *cx, const sc_tensor *x, int64_t dim, bool descending) {
    int d = sc_wrap_dim(cx, dim, x->rank);
    sc_tensor *order = d < 0 ? NULL : sort_along(cx, x, d, x->rank ? x->size[d] : 1, descending);
    if (!order || sc_is_contiguous(x)) return order;
    sc_tensor *like = sc_empty_like(cx, x, SC_I64); /* in x's strides, as in eager */
    int failed = !like || sc_copy_into(cx, like, order);
    sc_release(cx, order);
    if (!failed) return like;
    sc_release(cx, like);
    return NULL;
}

SC_KERNEL sc_tensor *sc_topk(sc_ctx *cx, const sc_tensor *x, int64_t k, int64_t dim, bool largest) {
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0) return NULL;
    if (k < 0 || k > (x->rank ? x->size[d] : 1)) {
        sc_raise(cx, "RuntimeError", "selected index k out of range");
        return NULL;
    }
    return sort_along(cx, x, d, x->rank ? k : 1, largest);
}
