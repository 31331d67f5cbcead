/* sc_index.c - elements picked and placed by tensors of indices: gather, scatter with its reductions, nonzero. */
#include <math.h>

#include "sc_internal.h"

/* A tensor without dimensions counts as having one of size 1, as in eager. */
static int rank_of(const sc_tensor *t) {
    return t->rank ? t->rank : 1;
}

static int64_t size_of(const sc_tensor *t, int d) {
    return t->rank ? t->size[d] : 1;
}

static int64_t stride_of(const sc_tensor *t, int d) {
    return t->rank ? t->stride[d] : 0;
}

/* The shapes of gather's and scatter's operands; `other` is what index may not exceed anywhere (scatter's source), or NULL. */
static int check_shapes(sc_ctx *cx, const char *what, const sc_tensor *x, int d, const sc_tensor *index, const sc_tensor *other) {
    if (index->numel == 0) return 0; /* of whatever dtype */
    if (index->dtype != SC_I64 && index->dtype != SC_I32)
        return sc_raise(cx, "RuntimeError", "%s(): Expected dtype int32/int64 for index", what);
    if (rank_of(index) != rank_of(x))
        return sc_raise(cx, "RuntimeError", "Index tensor must have the same number of dimensions as %s tensor",
                        other ? "self" : "input");
    for (int k = 0; k < rank_of(x); k++) {
        bool fits = k == d || size_of(index, k) <= size_of(x, k);
        if (fits && (!other || size_of(index, k) <= size_of(other, k))) continue;
        if (other)
            return sc_raise(cx, "RuntimeError",
                            "Expected index %s to be no larger than self %s apart from dimension %d and to be no larger size "
                            "than src %s",
                            sc_shape_text(index).s, sc_shape_text(x).s, d, sc_shape_text(other).s);
        return sc_raise(cx, "RuntimeError", "Size does not match at dimension %d expected index %s to be no larger than self %s apart from dimension %d",
                        k, sc_shape_text(index).s, sc_shape_text(x).s, d);
    }
    return 0;
}

static int64_t read_index(const sc_tensor *index, int64_t offset) {
    return index->dtype == SC_I64 ? ((const int64_t *)index->data)[offset] : ((const int32_t *)index->data)[offset];
}

static int check_index(sc_ctx *cx, int64_t i, int d, int64_t n) {
    if (i >= 0 && i < n) return 0;
    return sc_raise(cx, "RuntimeError", "index %lld is out of bounds for dimension %d with size %lld", (long long)i, d,
                    (long long)n);
}

/* Walks over index's elements: `at[k]` is the offset in operand k, whose stride is 0 along d where that is indexed. */
typedef struct places {
    const sc_tensor *index;
    int64_t at[3], stride[3][SC_MAX_RANK], position[SC_MAX_RANK];
} places;

static void places_begin(places *p, const sc_tensor *index, const sc_tensor *a, const sc_tensor *b, int d, int indexed) {
    const sc_tensor *all[3] = {index, a, b};
    memset(p, 0, sizeof *p);
    p->index = index;
    for (int o = 0; o < 3; o++)
        for (int k = 0; k < rank_of(index); k++) p->stride[o][k] = all[o] && !(o == indexed && k == d) ? stride_of(all[o], k) : 0;
}

static bool places_next(places *p) {
    for (int k = rank_of(p->index); k-- > 0;) {
        for (int o = 0; o < 3; o++) p->at[o] += p->stride[o][k];
        if (++p->position[k] < size_of(p->index, k)) return true;
        for (int o = 0; o < 3; o++) p->at[o] -= p->stride[o][k] * p->position[k];
        p->position[k] = 0;
    }
    return false;
}

SC_KERNEL sc_tensor *sc_gather(sc_ctx *cx, const sc_tensor *x, int64_t dim, const sc_tensor *index) {
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0 || check_shapes(cx, "gather", x, d, index, NULL)) return NULL;
    sc_tensor *out = sc_empty(cx, x->dtype, index->rank, index->size);
    if (!out || out->numel == 0) return out;
    size_t bytes = sc_dtype_size(x->dtype);
    int64_t n = size_of(x, d), step = stride_of(x, d);
    places p;
    places_begin(&p, index, x, out, d, 1);
    do {
        int64_t i = read_index(index, p.at[0]);
        if (check_index(cx, i, d, n)) {
            sc_release(cx, out);
            return NULL;
        }
        memcpy((char *)out->data + (size_t)p.at[2] * bytes, (const char *)x->data + (p.at[1] + i * step) * (int64_t)bytes, bytes);
    } while (places_next(&p));
    return out;
}

/* ---- scatter ---- */

static double combine_floats(int op, double a, double b) {
    switch (op) {
    case SC_SCATTER_ADD: case SC_SCATTER_MEAN: return a + b;
    case SC_SCATTER_PROD: return a * b;
    case SC_SCATTER_AMAX: return b > a || b != b ? b : a;
    case SC_SCATTER_AMIN: return b < a || b != b ? b : a;
    default: return b;
    }
}

static int64_t combine_ints(int op, int64_t a, int64_t b) {
    switch (op) {
    case SC_SCATTER_ADD: case SC_SCATTER_MEAN: return (int64_t)((uint64_t)a + (uint64_t)b);
    case SC_SCATTER_PROD: return (int64_t)((uint64_t)a * (uint64_t)b);
    case SC_SCATTER_AMAX: return b > a ? b : a;
    case SC_SCATTER_AMIN: return b < a ? b : a;
    default: return b;
    }
}

/* The value with which a place starts that does not count itself. */
static void reset_place(char *to, int dtype, int op) {
    double f = op == SC_SCATTER_PROD ? 1 : op == SC_SCATTER_AMAX ? -INFINITY : op == SC_SCATTER_AMIN ? INFINITY : 0;
    int64_t i = op == SC_SCATTER_PROD ? 1 : op == SC_SCATTER_AMAX ? INT64_MIN : op == SC_SCATTER_AMIN ? INT64_MAX : 0;
    if (sc_is_float(dtype)) sc_convert_row(to, dtype, 1, &f, SC_F64, 1, 1);
    else if (dtype == SC_I64) memcpy(to, &i, sizeof i);
    else { /* the ends of a narrower type */
        int bits = 8 * (int)sc_dtype_size(dtype) - (dtype != SC_U8);
        int64_t high = dtype == SC_BOOL ? 1 : ((int64_t)1 << bits) - 1, low = dtype == SC_BOOL || dtype == SC_U8 ? 0 : -high - 1;
        i = op == SC_SCATTER_AMAX ? low : op == SC_SCATTER_AMIN ? high : i;
        sc_convert_row(to, dtype, 1, &i, SC_I64, 1, 1);
    }
}

static void combine_place(char *to, const char *from, int dtype, int op) {
    if (sc_is_float(dtype)) {
        double v[2];
        sc_convert_row(&v[0], SC_F64, 1, to, dtype, 1, 1);
        sc_convert_row(&v[1], SC_F64, 1, from, dtype, 1, 1);
        v[0] = combine_floats(op, v[0], v[1]);
        sc_convert_row(to, dtype, 1, &v[0], SC_F64, 1, 1);
    } else {
        int64_t v[2];
        sc_convert_row(&v[0], SC_I64, 1, to, dtype, 1, 1);
        sc_convert_row(&v[1], SC_I64, 1, from, dtype, 1, 1);
        v[0] = combine_ints(op, v[0], v[1]);
        sc_convert_row(to, dtype, 1, &v[0], SC_I64, 1, 1);
    }
}

static void divide_place(char *at, int dtype, int64_t count) {
    if (sc_is_float(dtype)) {
        double v;
        sc_convert_row(&v, SC_F64, 1, at, dtype, 1, 1);
        v /= (double)count;
        sc_convert_row(at, dtype, 1, &v, SC_F64, 1, 1);
    } else {
        int64_t v;
        sc_convert_row(&v, SC_I64, 1, at, dtype, 1, 1);
        v = v / count - (v % count != 0 && v < 0);
        sc_convert_row(at, dtype, 1, &v, SC_I64, 1, 1);
    }
}

/* Writes src into out, which is contiguous. count: how much came to each place, where that is needed, else NULL. */
static int scatter_places(sc_ctx *cx, sc_tensor *out, int d, const sc_tensor *index, const sc_tensor *src, int op, int64_t *count) {
    size_t bytes = sc_dtype_size(out->dtype);
    int64_t n = size_of(out, d), step = stride_of(out, d);
    places p;
    places_begin(&p, index, out, src, d, 1);
    do {
        int64_t i = read_index(index, p.at[0]);
        if (check_index(cx, i, d, n)) return -1;
        int64_t place = p.at[1] + i * step;
        char *to = (char *)out->data + (size_t)place * bytes;
        const char *from = (const char *)src->data + p.at[2] * (int64_t)bytes;
        if (count && count[place]++ == 0) reset_place(to, out->dtype, op);
        if (op == SC_SCATTER_SET) memcpy(to, from, bytes);
        else combine_place(to, from, out->dtype, op);
    } while (places_next(&p));
    return 0;
}

/* A mean counts places even where they count themselves, from 1. */
static int scatter_counted(sc_ctx *cx, sc_tensor *out, int d, const sc_tensor *index, const sc_tensor *src, int op, bool include_self) {
    const int64_t size[1] = {out->numel};
    sc_tensor *count = sc_full(cx, SC_I64, size, 1, 0, include_self);
    if (!count) return -1;
    int64_t *counts = count->data;
    int failed = scatter_places(cx, out, d, index, src, op, counts);
    size_t bytes = sc_dtype_size(out->dtype);
    for (int64_t i = 0; !failed && op == SC_SCATTER_MEAN && i < out->numel; i++)
        if (counts[i] > 1) divide_place((char *)out->data + (size_t)i * bytes, out->dtype, counts[i]);
    sc_release(cx, count);
    return failed;
}

SC_KERNEL sc_tensor *sc_scatter(sc_ctx *cx, const sc_tensor *x, int64_t dim, const sc_tensor *index, const sc_tensor *src, int64_t op,
                                bool include_self) {
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0 || check_shapes(cx, "scatter", x, d, index, src)) return NULL;
    sc_tensor *out = sc_empty(cx, x->dtype, x->rank, x->size);
    if (!out) return NULL;
    bool counted = op != SC_SCATTER_SET && (op == SC_SCATTER_MEAN || !include_self);
    int failed = sc_copy_into(cx, out, x);
    if (!failed && index->numel)
        failed = counted ? scatter_counted(cx, out, d, index, src, (int)op, include_self)
                         : scatter_places(cx, out, d, index, src, (int)op, NULL);
    if (!failed) return out;
    sc_release(cx, out);
    return NULL;
}

/* ---- nonzero ---- */

SC_KERNEL sc_tensor *sc_nonzero(sc_ctx *cx, const sc_tensor *x) {
    sc_tensor *truth = sc_to_dtype(cx, (sc_tensor *)x, SC_BOOL), *flat = truth ? sc_contiguous(cx, truth) : NULL;
    sc_tensor *out = NULL;
    if (flat) {
        const bool *on = flat->data;
        int64_t size[2] = {0, x->rank};
        for (int64_t i = 0; i < flat->numel; i++) size[0] += on[i];
        const int64_t stride[2] = {1, size[0]}; /* a column per dim, as in eager */
        out = sc_empty_strided(cx, SC_I64, 2, size, stride);
        int64_t *to = out ? out->data : NULL;
        for (int64_t i = 0; to && i < flat->numel; i++) {
            if (!on[i]) continue;
            int64_t rest = i;
            for (int k = x->rank; k-- > 0; rest /= x->size[k]) to[k * size[0]] = rest % x->size[k];
            to++;
        }
    }
    sc_release(cx, flat);
    sc_release(cx, truth);
    return out;
}
