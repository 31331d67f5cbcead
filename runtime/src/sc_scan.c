/* sc_scan.c - along one dim: running sums, products and extremes. float, double and int64 have loops over several lines at once;
 * lines of other types are brought to double or int64, worked on in one piece, and written back. */
#include <math.h>

#include "../include/sc_vector.h"
#include "sc_internal.h"

/* The lines of a contiguous tensor along a dim. Line l begins at lines_begin and steps by `inner`. */
typedef struct lines { int64_t count, n, inner; } lines;

static lines lines_along(const sc_tensor *t, int d) {
    lines l = {1, t->rank ? t->size[d] : 1, 1};
    for (int k = d + 1; k < t->rank; k++) l.inner = sc_wrapped_product(l.inner, t->size[k]);
    l.count = l.n ? t->numel / l.n : 0;
    return l;
}

static int64_t lines_begin(const lines *l, int64_t line) {
    return line / l->inner * l->n * l->inner + line % l->inner;
}

/* Return x in a dtype, contiguous, a new reference. */
static sc_tensor *plain(sc_ctx *cx, const sc_tensor *x, int dtype) {
    sc_tensor *t = sc_to_dtype(cx, (sc_tensor *)x, dtype), *flat = t ? sc_contiguous(cx, t) : NULL;
    sc_release(cx, t);
    return flat;
}

enum { SCAN_LINES = 8, SCAN_COLUMNS = 128, SCAN_BLOCK = 16 };

/* Vectors of running sums in double. No order of adding floats overflows doubles, so whole vectors may be added. This
 * does not hold for sums as narrow as their elements, nor for products. */
enum { SUM_LANES = SC_VL / sizeof(double) };
typedef double sum_vec __attribute__((vector_size(SC_VL)));
typedef float sum_floats __attribute__((vector_size(SC_VL / 2), aligned(sizeof(float)), may_alias));

/* Add lane l - d, if there is one, to lane l. */
SC_INLINE sum_vec add_lane_below(sum_vec v, const int d) {
    if (d >= SUM_LANES) return v;
#ifdef __clang__
    sum_vec below = {0};
    for (int l = d; l < SUM_LANES; l++) below[l] = v[l - d];
    return v + below;
#else
    typedef int64_t lanes __attribute__((vector_size(SC_VL)));
    lanes pick;
    for (int l = 0; l < SUM_LANES; l++) pick[l] = l < d ? l : SUM_LANES + l - d;
    return v + __builtin_shuffle((sum_vec){0}, v, pick);
#endif
}

/* Compute the running sums of one row: sums within each vector, plus the sum of all vectors before it. */
static void sum_row(int64_t n, const float *x, float *out) {
    sum_vec before = {0};
    int64_t i = 0;
    for (; i + SUM_LANES <= n; i += SUM_LANES) {
        sum_vec v = __builtin_convertvector(*(const sum_floats *)(x + i), sum_vec);
        v = add_lane_below(add_lane_below(add_lane_below(v, 1), 2), 4);
        *(sum_floats *)(out + i) = __builtin_convertvector(before + v, sum_floats);
        before += v[SUM_LANES - 1] - (sum_vec){0};
    }
    for (double sum = before[0]; i < n; i++) out[i] = (float)(sum += (double)x[i]);
}

#define T float
#define W double
#define IS_NAN isnan
#define SUM_ROW sum_row
#define N(name) scan_##name##_f32
#include "sc_scan_tile.inc"
#define T double
#define W double
#define IS_NAN isnan
#define N(name) scan_##name##_f64
#include "sc_scan_tile.inc"
#define T int64_t
#define W uint64_t /* wraps */
#define IS_NAN(x) false
#define N(name) scan_##name##_i64
#include "sc_scan_tile.inc"

static double log_add(double a, double b) {
    if (a == b && isinf(a)) return a;
    double high = a > b ? a : b, low = a > b ? b : a;
    return isnan(a) || isnan(b) ? NAN : high + log1p(exp(low - high));
}

static void scan_floats(int op, double *v, int64_t n) {
    for (int64_t i = 1; i < n; i++)
        v[i] = op == SC_CUMSUM ? v[i - 1] + v[i] : op == SC_CUMPROD ? v[i - 1] * v[i] : log_add(v[i - 1], v[i]);
}

static void scan_ints(int op, int64_t *v, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        uint64_t a = (uint64_t)v[i - 1], b = (uint64_t)v[i];
        v[i] = (int64_t)(op == SC_CUMSUM ? a + b : a * b);
    }
}

/* Scan the lines, and return true, if there are loops for the dtype. */
static bool scan_typed(const lines *l, bool product, int dtype, const void *x, void *out) {
    if (dtype == SC_F32) scan_lines_f32(l->count, l->n, l->inner, product, x, out);
    else if (dtype == SC_F64) scan_lines_f64(l->count, l->n, l->inner, product, x, out);
    else if (dtype == SC_I64) scan_lines_i64(l->count, l->n, l->inner, product, x, out);
    return dtype == SC_F32 || dtype == SC_F64 || dtype == SC_I64;
}

SC_KERNEL sc_tensor *sc_scan(sc_ctx *cx, const sc_tensor *x, int64_t op, int64_t dim, int dtype) {
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0) return NULL;
    int wide = sc_is_float(dtype) ? SC_F64 : SC_I64;
    sc_tensor *in = plain(cx, x, dtype), *out = in ? sc_empty(cx, dtype, x->rank, x->size) : NULL;
    lines l = lines_along(x, d);
    const int64_t length[1] = {l.n};
    sc_tensor *line = out ? sc_empty(cx, wide, 1, length) : NULL;
    size_t bytes = sc_dtype_size(dtype);
    bool typed = line && op != SC_LOGCUMSUMEXP && scan_typed(&l, op == SC_CUMPROD, dtype, in->data, out->data);
    for (int64_t i = 0; line && !typed && i < l.count; i++) {
        int64_t at = lines_begin(&l, i) * (int64_t)bytes;
        sc_convert_row(line->data, wide, 1, (char *)in->data + at, dtype, l.inner, l.n);
        if (wide == SC_F64) scan_floats((int)op, line->data, l.n);
        else scan_ints((int)op, line->data, l.n);
        sc_convert_row((char *)out->data + at, dtype, l.inner, line->data, wide, 1, l.n);
    }
    if (!line) {
        sc_release(cx, out);
        out = NULL;
    }
    sc_release(cx, line);
    sc_release(cx, in);
    return out;
}

/* Return running extremes in the dtype of comparison or, if `positions`, their positions as int64. */
static sc_tensor *scan_extremes(sc_ctx *cx, const sc_tensor *x, int64_t dim, bool largest, bool positions) {
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0) return NULL;
    int wide = !sc_is_float(x->dtype) ? SC_I64 : x->dtype == SC_F64 ? SC_F64 : SC_F32;
    sc_tensor *in = plain(cx, x, wide), *out = in ? sc_empty(cx, positions ? SC_I64 : wide, x->rank, x->size) : NULL;
    lines l = lines_along(x, d);
    for (int64_t i = 0; out && i < l.count; i++) {
        int64_t at = lines_begin(&l, i), *to = positions ? (int64_t *)out->data + at : NULL;
        if (wide == SC_F32) scan_extremes_f32(largest, l.n, l.inner, (float *)in->data + at, to ? NULL : (float *)out->data + at, to);
        else if (wide == SC_F64)
            scan_extremes_f64(largest, l.n, l.inner, (double *)in->data + at, to ? NULL : (double *)out->data + at, to);
        else scan_extremes_i64(largest, l.n, l.inner, (int64_t *)in->data + at, to ? NULL : (int64_t *)out->data + at, to);
    }
    sc_release(cx, in);
    return out;
}

SC_KERNEL sc_tensor *sc_extreme_scan(sc_ctx *cx, const sc_tensor *x, int64_t dim, bool largest) {
    sc_tensor *wide = scan_extremes(cx, x, dim, largest, false), *out = wide ? sc_to_dtype(cx, wide, x->dtype) : NULL;
    sc_release(cx, wide);
    return out;
}

SC_KERNEL sc_tensor *sc_arg_scan(sc_ctx *cx, const sc_tensor *x, int64_t dim, bool largest) {
    return scan_extremes(cx, x, dim, largest, true);
}
