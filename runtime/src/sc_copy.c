/* sc_copy.c - new tensors with values, copies and conversions, concatenation and gathering. */
#include <math.h>

#include "../include/sc_cast.h"
#include "sc_internal.h"

/* ---- filling ---- */

typedef union element { /* the bytes of one element of any dtype */
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    uint64_t halves[2];
} element;

static void fill_elements(void *data, size_t bytes, int64_t n, element e) {
    if (e.halves[0] == 0 && e.halves[1] == 0) memset(data, 0, (size_t)n * bytes);
    else if (bytes == 1) memset(data, e.u8, (size_t)n);
    else if (bytes == 2) for (int64_t i = 0; i < n; i++) ((uint16_t *)data)[i] = e.u16;
    else if (bytes == 4) for (int64_t i = 0; i < n; i++) ((uint32_t *)data)[i] = e.u32;
    else if (bytes == 8) for (int64_t i = 0; i < n; i++) ((uint64_t *)data)[i] = e.u64;
    else for (int64_t i = 0; i < n; i++) memcpy((char *)data + 16 * i, &e, 16);
}

/* Return whether a number fits the dtype by the rules of eager's fill: negative integers may wrap in uint8, infinity fits
 * floats. If a float goes into an integer dtype, i is its whole part. */
static bool fits(int dtype, double f, int64_t i) {
    static const double largest[SC_NDTYPES] = {[SC_F16] = 65504.0, [SC_BF16] = 0x1.fep127, [SC_F32] = 0x1.fffffep127, [SC_C64] = 0x1.fffffep127};
    switch (dtype) {
    case SC_U8: return i >= -255 && i <= 255 && f >= 0 && f <= 255;
    case SC_I8: return i >= INT8_MIN && i <= INT8_MAX && f >= INT8_MIN && f <= INT8_MAX;
    case SC_I16: return i >= INT16_MIN && i <= INT16_MAX && f >= INT16_MIN && f <= INT16_MAX;
    case SC_I32: return i >= INT32_MIN && i <= INT32_MAX && f >= INT32_MIN && f <= INT32_MAX;
    case SC_I64: return f >= -0x1p63 && f <= 0x1p63;
    case SC_F16: case SC_BF16: case SC_F32: case SC_C64: return !(fabs(f) > largest[dtype]) || isinf(f);
    default: return true;
    }
}

SC_KERNEL sc_tensor *sc_full(sc_ctx *cx, int dtype, const int64_t *size, int rank, double f, int64_t i) {
    static const char *const cname[SC_NDTYPES] = {"bool",    "uint8_t",   "int8_t",        "int16_t", "int",
                                                  "int64_t", "c10::Half", "c10::BFloat16", "float",   "double", "c10::complex<float>", "c10::complex<double>"};
    sc_tensor *t = sc_empty(cx, dtype, rank, size);
    if (!t) return NULL;
    bool becomes_infinite = t->numel == 1 && (dtype == SC_F16 || dtype == SC_BF16);
    if (!becomes_infinite && !fits(dtype, f, i)) {
        sc_raise(cx, "RuntimeError", "value cannot be converted to type %s without overflow", cname[dtype]);
        sc_release(cx, t);
        return NULL;
    }
    element e = {.halves = {0}};
    bool floating = sc_is_float(dtype) || sc_is_complex(dtype);
    sc_convert_row(&e, dtype, 1, floating ? (void *)&f : (void *)&i, floating ? SC_F64 : SC_I64, 1, 1);
    fill_elements(t->data, sc_dtype_size(dtype), t->numel, e);
    return t;
}

SC_KERNEL sc_tensor *sc_empty_like(sc_ctx *cx, const sc_tensor *x, int dtype) {
    int64_t stride[SC_MAX_RANK];
    sc_dense_strides(x, stride);
    return sc_empty_strided(cx, dtype, x->rank, x->size, stride);
}

enum { ARANGE_CHUNK = 256 }; /* numbers of the wide type that are converted at a time */

SC_KERNEL sc_tensor *sc_arange(sc_ctx *cx, int dtype, double start, double stop, double step) {
    if (dtype == SC_I64) {
        if (sc_f64_to_i64(step) == 0) {
            sc_raise(cx, "ValueError", "step must be nonzero");
            return NULL;
        }
        return sc_arange_int(cx, dtype, sc_f64_to_i64(start), sc_f64_to_i64(stop), sc_f64_to_i64(step));
    }
    double count = ceil((stop - start) / step);
    const char *wrong = !(step > 0 || step < 0)                  ? "step must be nonzero"
                        : !isfinite(start) || !isfinite(stop)    ? NULL
                        : (step > 0 ? stop < start : stop > start) ? "upper bound and lower bound inconsistent with step sign"
                        : count > 0x1p63                         ? "invalid size, possible overflow?"
                                                                 : "";
    if (!wrong) sc_raise(cx, "RuntimeError", "unsupported range: %g -> %g", start, stop);
    else if (*wrong) sc_raise(cx, "RuntimeError", "%s", wrong);
    if (!wrong || *wrong) return NULL;
    int64_t n = (int64_t)count;
    sc_tensor *t = sc_empty(cx, dtype, 1, &n);
    if (!t) return NULL;
    /* the count was computed from the exact numbers */
    if (!sc_is_float(dtype)) start = trunc(start), step = trunc(step);
    for (int64_t at = 0; at < n; at += ARANGE_CHUNK) {
        double values[ARANGE_CHUNK];
        int64_t m = n - at < ARANGE_CHUNK ? n - at : ARANGE_CHUNK;
        for (int64_t i = 0; i < m; i++) values[i] = start + step * (double)(at + i);
        sc_convert_row((char *)t->data + at * (int64_t)sc_dtype_size(dtype), dtype, 1, values, SC_F64, 1, m);
    }
    return t;
}

SC_KERNEL sc_tensor *sc_arange_int(sc_ctx *cx, int dtype, int64_t start, int64_t stop, int64_t step) {
    if (step == 0 || (step > 0 ? stop < start : stop > start)) {
        sc_raise(cx, "RuntimeError", "%s",
                 step ? "upper bound and lower bound inconsistent with step sign" : "step must be nonzero");
        return NULL;
    }
    uint64_t distance = step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
    uint64_t stride = step > 0 ? (uint64_t)step : -(uint64_t)step;
    uint64_t count = distance ? (distance - 1) / stride + 1 : 0;
    if (count > INT64_MAX) {
        sc_raise(cx, "RuntimeError", "invalid size, possible overflow?");
        return NULL;
    }
    int64_t n = (int64_t)count;
    sc_tensor *t = sc_empty(cx, dtype, 1, &n);
    if (!t) return NULL;
    for (int64_t at = 0; at < n; at += ARANGE_CHUNK) {
        int64_t values[ARANGE_CHUNK], m = n - at < ARANGE_CHUNK ? n - at : ARANGE_CHUNK;
        for (int64_t i = 0; i < m; i++) values[i] = (int64_t)((uint64_t)start + (uint64_t)step * (uint64_t)(at + i));
        sc_convert_row((char *)t->data + at * (int64_t)sc_dtype_size(dtype), dtype, 1, values, SC_I64, 1, m);
    }
    return t;
}

/* ---- copying ---- */

/* Used when rows of dst and columns of src are contiguous: the two inner dimensions are a transposed matrix. */
enum { COPY_TILE = 8 };

static bool is_transposition(const sc_iter *it, int64_t bytes) {
    return it->rank >= 1 && it->step[0] == 1 && it->step[1] >= COPY_TILE && it->stride[0][1] == bytes && it->n >= COPY_TILE &&
           it->size[0] >= COPY_TILE && it->stride[0][0] % bytes == 0;
}

/* Return whether the inner dimension is short and the next one long, so that rows are copied along the next one. */
static bool is_narrow(const sc_iter *it, int64_t bytes) {
    return it->rank >= 1 && it->n < COPY_TILE && it->size[0] > 2 * it->n && it->stride[0][0] % bytes == 0 &&
           it->stride[0][1] % bytes == 0;
}

/* Copy the two inner dimensions, of elements of `bytes` bytes. */
static void copy_plane(const sc_iter *it, int64_t bytes) {
    int64_t rows = it->size[0], to_pitch = it->stride[0][0] / bytes, from_pitch = it->stride[0][1] / bytes;
    if (it->n >= COPY_TILE) sc_move_transposed((size_t)bytes, it->p[0], to_pitch, it->p[1], it->step[1], rows, it->n);
    else
        for (int64_t i = 0; i < it->n; i++)
            sc_move_row((size_t)bytes, (char *)it->p[0] + i * it->step[0] * bytes, to_pitch,
                        (const char *)it->p[1] + i * it->step[1] * bytes, from_pitch, rows);
}

/* Advance past the rows that copy_plane has copied. */
static bool next_plane(sc_iter *it) {
    for (int o = 0; o < it->operands; o++) it->p[o] = (char *)it->p[o] + it->stride[0][o] * (it->size[0] - 1);
    it->at[0] = it->size[0] - 1;
    return sc_iter_next(it);
}

SC_KERNEL int sc_copy_into(sc_ctx *cx, sc_tensor *dst, const sc_tensor *src) {
    sc_iter it;
    sc_tensor *in = (sc_tensor *)src;
    if (sc_iter_into(cx, &it, dst, 1, &in)) return -1;
    if (it.n == 0) return 0;
    int64_t bytes = (int64_t)sc_dtype_size(dst->dtype);
    if (dst->dtype == src->dtype && (is_transposition(&it, bytes) || is_narrow(&it, bytes))) {
        do copy_plane(&it, bytes);
        while (next_plane(&it));
        return 0;
    }
    do sc_convert_row(it.p[0], dst->dtype, it.step[0], it.p[1], src->dtype, it.step[1], it.n);
    while (sc_iter_next(&it));
    return 0;
}

/* Copy src into the new tensor t and return t. If copying fails, or t is NULL, release t and return NULL. */
static sc_tensor *filled_from(sc_ctx *cx, sc_tensor *t, const sc_tensor *src) {
    if (t && sc_copy_into(cx, t, src)) {
        sc_release(cx, t);
        return NULL;
    }
    return t;
}

SC_KERNEL sc_tensor *sc_clone(sc_ctx *cx, const sc_tensor *x) {
    return filled_from(cx, sc_empty_like(cx, x, x->dtype), x);
}

SC_KERNEL sc_tensor *sc_contiguous(sc_ctx *cx, sc_tensor *x) {
    if (!sc_is_contiguous(x)) return filled_from(cx, sc_empty(cx, x->dtype, x->rank, x->size), x);
    sc_retain(x);
    return x;
}

SC_KERNEL sc_tensor *sc_plain(sc_ctx *cx, sc_tensor *x) {
    int64_t expected = 1;
    bool plain = true;
    for (int d = x->rank; d-- > 0; expected = sc_wrapped_product(expected, x->size[d] ? x->size[d] : 1)) plain = plain && x->stride[d] == expected;
    if (!plain) return filled_from(cx, sc_empty(cx, x->dtype, x->rank, x->size), x);
    sc_retain(x);
    return x;
}

SC_KERNEL sc_tensor *sc_fit(sc_ctx *cx, sc_tensor *x, const int64_t *size, int rank) {
    if (x->rank == rank && sc_same_sizes(x->size, size, rank)) return sc_contiguous(cx, x);
    sc_tensor *wide = sc_expand(cx, x, size, rank), *out = wide ? sc_contiguous(cx, wide) : NULL;
    sc_release(cx, wide);
    return out;
}

SC_KERNEL sc_tensor *sc_to_dtype(sc_ctx *cx, sc_tensor *x, int dtype) {
    if (x->dtype != dtype) return filled_from(cx, sc_empty_like(cx, x, dtype), x);
    sc_retain(x);
    return x;
}

SC_KERNEL sc_tensor *sc_repeat(sc_ctx *cx, const sc_tensor *x, const int64_t *repeats, int rank) {
    int64_t size[SC_MAX_RANK], split[SC_MAX_RANK], own[SC_MAX_RANK], spread[SC_MAX_RANK];
    int extra = rank - x->rank, n = 0;
    if (extra < 0) {
        sc_raise(cx, "RuntimeError", "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
        return NULL;
    }
    /* View the result with each repeated dimension as two, (repeat, element); x is broadcast along the first. */
    for (int d = 0; d < rank && rank <= SC_MAX_RANK; d++) {
        int64_t length = d < extra ? 1 : x->size[d - extra], stride = d < extra ? 0 : x->stride[d - extra];
        if (__builtin_mul_overflow(length, repeats[d], &size[d])) {
            sc_raise(cx, "RuntimeError", "numel: integer multiplication overflow");
            return NULL;
        }
        bool both = repeats[d] != 1 && length != 1;
        if (n + 1 + both > SC_MAX_RANK) {
            sc_raise(cx, "RuntimeError", "repeat() of so many dimensions is not supported");
            return NULL;
        }
        if (repeats[d] != 1) split[n] = repeats[d], spread[n++] = 0;
        if (repeats[d] == 1 || both) split[n] = length, spread[n++] = stride;
    }
    sc_tensor *t = sc_empty(cx, x->dtype, rank, size);
    if (!t || t->numel == 0) return t;
    if (n == 0 || (spread[n - 1] == 1 && (n == 1 || (n == 2 && spread[0] == 0)))) { /* one row, again and again */
        size_t row = sc_dtype_size(x->dtype) * (size_t)(n ? split[n - 1] : 1), all = sc_dtype_size(x->dtype) * (size_t)t->numel;
        for (size_t at = 0; at < all; at += row) memcpy((char *)t->data + at, x->data, row);
        return t;
    }
    int64_t next = 1;
    for (int d = n; d-- > 0;) {
        own[d] = next;
        next *= split[d];
    }
    sc_tensor *to = sc_view_of(cx, t, 0, n, split, own), *from = to ? sc_view_of(cx, x, 0, n, split, spread) : NULL;
    if (!from || sc_copy_into(cx, to, from)) {
        sc_release(cx, t);
        t = NULL;
    }
    sc_release(cx, from);
    sc_release(cx, to);
    return t;
}

SC_KERNEL sc_tensor *sc_flip(sc_ctx *cx, const sc_tensor *x, const int64_t *dims, int n) {
    int64_t stride[SC_MAX_RANK], offset = 0;
    uint32_t seen = 0;
    memcpy(stride, x->stride, sizeof stride);
    for (int i = 0; i < n; i++) {
        int d = sc_wrap_dim(cx, dims[i], x->rank);
        if (d < 0) return NULL;
        if (seen >> d & 1) {
            sc_raise(cx, "RuntimeError", "dim %d appears multiple times in the list of dims", d);
            return NULL;
        }
        seen |= 1u << d;
        if (x->rank == 0 || x->size[d] == 0) continue;
        offset += (x->size[d] - 1) * x->stride[d];
        stride[d] = -x->stride[d];
    }
    sc_tensor *backwards = sc_view_of(cx, x, offset, x->rank, x->size, stride);
    sc_tensor *t = backwards ? filled_from(cx, sc_empty_like(cx, x, x->dtype), backwards) : NULL;
    sc_release(cx, backwards);
    return t;
}

/* ---- one element to a Python number ---- */

static int read_item(sc_ctx *cx, const sc_tensor *x, void *out, int dtype) {
    if (x->numel != 1)
        return sc_raise(cx, "RuntimeError", "a Tensor with %lld elements cannot be converted to Scalar", (long long)x->numel);
    sc_convert_row(out, dtype, 1, x->data, x->dtype, 1, 1);
    return 0;
}

SC_KERNEL int sc_item_f64(sc_ctx *cx, const sc_tensor *x, double *out) {
    return read_item(cx, x, out, SC_F64);
}

SC_KERNEL int sc_item_i64(sc_ctx *cx, const sc_tensor *x, int64_t *out) {
    double f;
    if (!sc_is_float(x->dtype)) return read_item(cx, x, out, SC_I64);
    if (read_item(cx, x, &f, SC_F64)) return -1;
    if (isnan(f)) return sc_raise(cx, "ValueError", "cannot convert float NaN to integer");
    if (isinf(f)) return sc_raise(cx, "OverflowError", "cannot convert float infinity to integer");
    if (!(f >= -0x1p63 && f < 0x1p63)) return sc_raise(cx, "OverflowError", "Python int too large to convert to C long");
    *out = (int64_t)f;
    return 0;
}

SC_KERNEL int sc_item_bool(sc_ctx *cx, const sc_tensor *x, bool *out) {
    uint8_t truth;
    if (x->numel != 1)
        return sc_raise(cx, "RuntimeError", "Boolean value of Tensor with %s is ambiguous",
                        x->numel ? "more than one value" : "no values");
    if (read_item(cx, x, &truth, SC_BOOL)) return -1;
    *out = truth;
    return 0;
}

SC_KERNEL sc_list *sc_list_of_tensor(sc_ctx *cx, sc_tensor *x) {
    bool floats = x->dtype == SC_F64 || x->dtype == SC_F32 || x->dtype == SC_F16 || x->dtype == SC_BF16;
    sc_list *made = sc_list_new(cx, SC_VALUES, x->numel);
    sc_tensor *wide = made ? sc_to_dtype(cx, x, floats ? SC_F64 : SC_I64) : NULL;
    sc_tensor *numbers = wide ? sc_contiguous(cx, wide) : NULL;
    if (numbers) {
        memcpy(made->items, numbers->data, (size_t)x->numel * sizeof *made->items);
        made->len = x->numel;
    }
    sc_release(cx, wide);
    sc_release(cx, numbers);
    if (numbers) return made;
    sc_release(cx, made);
    return NULL;
}
