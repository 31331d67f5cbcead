/* sc_scan.c - along one dim: running sums, products and extremes, and the order of sorting. Each line is brought to double or
 * int64, worked on in one piece, and written back. */
#include <math.h>

#include "sc_internal.h"

/* The lines of a contiguous tensor along a dim: line l begins at lines_begin and steps by `inner`. */
typedef struct lines { int64_t count, n, inner; } lines;

static lines lines_along(const sc_tensor *t, int d) {
    lines l = {1, t->rank ? t->size[d] : 1, 1};
    for (int k = d + 1; k < t->rank; k++) l.inner *= t->size[k];
    l.count = l.n ? t->numel / l.n : 0;
    return l;
}

static int64_t lines_begin(const lines *l, int64_t line) {
    return line / l->inner * l->n * l->inner + line % l->inner;
}

/* Owned and contiguous: x in a dtype. */
static sc_tensor *plain(sc_ctx *cx, const sc_tensor *x, int dtype) {
    sc_tensor *t = sc_to_dtype(cx, (sc_tensor *)x, dtype), *flat = t ? sc_contiguous(cx, t) : NULL;
    sc_release(cx, t);
    return flat;
}

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

SC_KERNEL sc_tensor *sc_scan(sc_ctx *cx, const sc_tensor *x, int64_t op, int64_t dim, int dtype) {
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0) return NULL;
    int wide = sc_is_float(dtype) ? SC_F64 : SC_I64;
    sc_tensor *in = plain(cx, x, dtype), *out = in ? sc_empty(cx, dtype, x->rank, x->size) : NULL;
    lines l = lines_along(x, d);
    const int64_t length[1] = {l.n};
    sc_tensor *line = out ? sc_empty(cx, wide, 1, length) : NULL;
    size_t bytes = sc_dtype_size(dtype);
    for (int64_t i = 0; line && i < l.count; i++) {
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

/* Where the running extreme stands: the latest of equals, and a NaN once there is one. */
static void positions_floats(bool largest, const double *v, int64_t n, int64_t *to) {
    for (int64_t i = 0, best = 0; i < n; i++) {
        if (isnan(v[i]) || (!isnan(v[best]) && (largest ? v[i] >= v[best] : v[i] <= v[best]))) best = i;
        to[i] = best;
    }
}

static void positions_ints(bool largest, const int64_t *v, int64_t n, int64_t *to) {
    for (int64_t i = 0, best = 0; i < n; i++) {
        if (largest ? v[i] >= v[best] : v[i] <= v[best]) best = i;
        to[i] = best;
    }
}

/* ---- sorting ---- */

static bool less_float(double a, double b) { /* NaN is the largest */
    return a < b || (isnan(b) && !isnan(a));
}

/* Whether the element at j goes in front of the one at i, which stands before it. */
static bool goes_first(const sc_tensor *line, bool descending, int64_t i, int64_t j) {
    if (line->dtype == SC_I64) {
        const int64_t *v = line->data;
        return descending ? v[j] > v[i] : v[j] < v[i];
    }
    const double *v = line->data;
    return descending ? less_float(v[i], v[j]) : less_float(v[j], v[i]);
}

/* Stable merge sort from the bottom; order[0..n) in, sorted in the array that is returned. */
static int64_t *merge_sort(const sc_tensor *line, bool descending, int64_t *order, int64_t *spare, int64_t n) {
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t low = 0; low < n; low += 2 * width) {
            int64_t middle = low + width < n ? low + width : n, high = low + 2 * width < n ? low + 2 * width : n;
            int64_t a = low, b = middle;
            for (int64_t k = low; k < high; k++) {
                bool second = a == middle || (b < high && goes_first(line, descending, order[a], order[b]));
                spare[k] = second ? order[b++] : order[a++];
            }
        }
        int64_t *swap = order;
        order = spare;
        spare = swap;
    }
    return order;
}

static const int64_t *sorted_order(const sc_tensor *line, bool descending, int64_t *work, int64_t n) {
    for (int64_t i = 0; i < n; i++) work[i] = i;
    return merge_sort(line, descending, work, work + n, n);
}

static const int64_t *running_extreme(const sc_tensor *line, bool largest, int64_t *work, int64_t n) {
    if (line->dtype == SC_F64) positions_floats(largest, line->data, n, work);
    else positions_ints(largest, line->data, n, work);
    return work;
}

typedef const int64_t *line_positions(const sc_tensor *line, bool flag, int64_t *work, int64_t n);

/* For each line the positions that a function finds. */
static sc_tensor *positions(sc_ctx *cx, const sc_tensor *x, int64_t dim, bool flag, line_positions *find) {
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0) return NULL;
    int wide = sc_is_float(x->dtype) ? SC_F64 : SC_I64;
    lines l = lines_along(x, d);
    const int64_t length[1] = {l.n}, twice[1] = {2 * l.n};
    sc_tensor *in = plain(cx, x, x->dtype), *out = in ? sc_empty(cx, SC_I64, x->rank, x->size) : NULL;
    sc_tensor *line = out ? sc_empty(cx, wide, 1, length) : NULL, *work = line ? sc_empty(cx, SC_I64, 1, twice) : NULL;
    size_t bytes = sc_dtype_size(x->dtype);
    for (int64_t i = 0; work && i < l.count; i++) {
        int64_t at = lines_begin(&l, i);
        sc_convert_row(line->data, wide, 1, (char *)in->data + (size_t)at * bytes, x->dtype, l.inner, l.n);
        const int64_t *found = find(line, flag, work->data, l.n);
        for (int64_t k = 0; k < l.n; k++) ((int64_t *)out->data)[at + k * l.inner] = found[k];
    }
    if (!work) {
        sc_release(cx, out);
        out = NULL;
    }
    sc_release(cx, work);
    sc_release(cx, line);
    sc_release(cx, in);
    return out;
}

SC_KERNEL sc_tensor *sc_argsort(sc_ctx *cx, const sc_tensor *x, int64_t dim, bool descending) {
    sc_tensor *order = positions(cx, x, dim, descending, sorted_order);
    if (!order || sc_is_contiguous(x)) return order;
    sc_tensor *like = sc_empty_like(cx, x, SC_I64); /* in x's strides, as in eager */
    int failed = !like || sc_copy_into(cx, like, order);
    sc_release(cx, order);
    if (!failed) return like;
    sc_release(cx, like);
    return NULL;
}

SC_KERNEL sc_tensor *sc_arg_scan(sc_ctx *cx, const sc_tensor *x, int64_t dim, bool largest) {
    return positions(cx, x, dim, largest, running_extreme);
}
