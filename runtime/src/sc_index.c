/* sc_index.c - elements gathered and scattered by tensors of indices: gather, index_select, scatter with its reductions, nonzero. */
#include <math.h>

#include "../include/sc_complex.h"
#include "sc_internal.h"

/* Return the rank. As in eager, a tensor without dimensions counts as having one of size 1. */
static int rank_of(const sc_tensor *t) {
    return t->rank ? t->rank : 1;
}

static int64_t size_of(const sc_tensor *t, int d) {
    return t->rank ? t->size[d] : 1;
}

static int64_t stride_of(const sc_tensor *t, int d) {
    return t->rank ? t->stride[d] : 0;
}

/* Check the shapes of gather's and scatter's operands. No size of index may exceed that of `other`, scatter's source
 * (or NULL). */
static int check_shapes(sc_ctx *cx, const char *what, const sc_tensor *x, int d, const sc_tensor *index, const sc_tensor *other) {
    if (index->numel == 0) return 0; /* any dtype is accepted */
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

/* Return index as int64, a new reference. */
static sc_tensor *wide_index(sc_ctx *cx, const sc_tensor *index) {
    return sc_to_dtype(cx, (sc_tensor *)index, SC_I64);
}

/* Return a word whose sign bit tells that an index is negative or above `last`. These words can be or-ed, so a row
 * needs one test. */
static inline uint64_t outside(int64_t index, int64_t last) {
    return (uint64_t)index | ((uint64_t)last - (uint64_t)index);
}

/* Check n indices at once. Only if one is out of bounds, search for the first such. */
static int check_indices(sc_ctx *cx, const int64_t *index, int64_t step, int64_t n, int d, int64_t limit) {
    uint64_t bad = 0;
    if (step == 0) n = n > 0;
    if (step == 1)
        for (int64_t j = 0; j < n; j++) bad |= outside(index[j], limit - 1);
    else
        for (int64_t j = 0; j < n; j++) bad |= outside(index[j * step], limit - 1);
    if (!(bad >> 63)) return 0;
    while ((uint64_t)*index < (uint64_t)limit) index += step;
    return sc_raise(cx, "RuntimeError", "index %lld is out of bounds for dimension %d with size %lld", (long long)*index, d,
                    (long long)limit);
}

/* An iteration over index's rows along its last dim of a size other than 1. at[o] is the offset of the row in operand
 * o, and step[o] the step in the row; both are 0 along dim d of the indexed operand. */
typedef struct index_walk {
    int rank;
    int64_t n, at[3], step[3], size[SC_MAX_RANK], stride[3][SC_MAX_RANK], position[SC_MAX_RANK];
} index_walk;

static void index_walk_begin(index_walk *p, const sc_tensor *index, const sc_tensor *a, const sc_tensor *b, int d, int indexed) {
    const sc_tensor *all[3] = {index, a, b};
    memset(p, 0, sizeof *p);
    p->rank = rank_of(index) - 1;
    while (p->rank > 0 && size_of(index, p->rank) == 1) p->rank--;
    p->n = size_of(index, p->rank);
    for (int o = 0; o < 3; o++)
        for (int k = 0; k <= p->rank; k++) {
            int64_t stride = all[o] && !(o == indexed && k == d) ? stride_of(all[o], k) : 0;
            if (k < p->rank) p->stride[o][k] = stride, p->size[k] = size_of(index, k);
            else p->step[o] = stride;
        }
}

/* Advance by `rows` rows, at most as many as index_walk_rows returns. */
static bool index_walk_pass(index_walk *p, int64_t rows) {
    for (int k = p->rank; k-- > 0; rows = 1) {
        for (int o = 0; o < 3; o++) p->at[o] += rows * p->stride[o][k];
        p->position[k] += rows;
        if (p->position[k] < p->size[k]) return true;
        for (int o = 0; o < 3; o++) p->at[o] -= p->stride[o][k] * p->position[k];
        p->position[k] = 0;
    }
    return false;
}

static bool index_walk_next(index_walk *p) {
    return index_walk_pass(p, 1);
}

/* Return the number of next rows that are evenly spaced in all operands. */
static int64_t index_walk_rows(const index_walk *p) {
    return p->rank ? p->size[p->rank - 1] - p->position[p->rank - 1] : 1;
}

/* ---- rows of elements, by their size or type ---- */

enum { ADD_ROWS = 4 };

#define T uint8_t
#define N(name) name##_1
#include "sc_index_rows.inc"
#define T uint16_t
#define N(name) name##_2
#include "sc_index_rows.inc"
#define T uint32_t
#define N(name) name##_4
#include "sc_index_rows.inc"
#define T uint64_t
#define N(name) name##_8
#include "sc_index_rows.inc"
#define T sc_c64
#define N(name) name##_c64
#include "sc_index_rows.inc"
#define T sc_c128
#define N(name) name##_c128
#include "sc_index_rows.inc"
#define T float
#define N(name) name##_f32
#include "sc_index_rows.inc"
#define T double
#define N(name) name##_f64
#include "sc_index_rows.inc"

static void pick_row(size_t bytes, void *to, const void *from, int64_t from_step, int64_t step, const int64_t *index,
                     int64_t index_step, int64_t n) {
    switch (bytes) {
    case 1: pick_1(to, from, from_step, step, index, index_step, n); break;
    case 2: pick_2(to, from, from_step, step, index, index_step, n); break;
    case 4: pick_4(to, from, from_step, step, index, index_step, n); break;
    case 8: pick_8(to, from, from_step, step, index, index_step, n); break;
    default: pick_c128(to, from, from_step, step, index, index_step, n);
    }
}

static void put_row(size_t bytes, void *to, int64_t to_step, int64_t step, const int64_t *index, int64_t index_step,
                    const void *from, int64_t from_step, int64_t n) {
    switch (bytes) {
    case 1: put_1(to, to_step, step, index, index_step, from, from_step, n); break;
    case 2: put_2(to, to_step, step, index, index_step, from, from_step, n); break;
    case 4: put_4(to, to_step, step, index, index_step, from, from_step, n); break;
    case 8: put_8(to, to_step, step, index, index_step, from, from_step, n); break;
    default: put_c128(to, to_step, step, index, index_step, from, from_step, n);
    }
}

/* Return whether there is a loop for sums of the dtype; integers wrap. */
static bool add_row(int dtype, void *to, int64_t to_step, int64_t step, const int64_t *index, int64_t index_step, const void *from,
                    int64_t from_step, int64_t n) {
    switch (dtype) {
    case SC_F32: add_f32(to, to_step, step, index, index_step, from, from_step, n); return true;
    case SC_C64: add_c64(to, to_step, step, index, index_step, from, from_step, n); return true;
    case SC_C128: add_c128(to, to_step, step, index, index_step, from, from_step, n); return true;
    case SC_F64: add_f64(to, to_step, step, index, index_step, from, from_step, n); return true;
    case SC_I64: add_8(to, to_step, step, index, index_step, from, from_step, n); return true;
    case SC_I32: add_4(to, to_step, step, index, index_step, from, from_step, n); return true;
    case SC_I16: add_2(to, to_step, step, index, index_step, from, from_step, n); return true;
    case SC_I8: case SC_U8: add_1(to, to_step, step, index, index_step, from, from_step, n); return true;
    default: return false;
    }
}

/* Add ADD_ROWS rows, each along its own row of p's; return whether there is a loop for the dtype. */
static bool add_rows(int dtype, void *to, const int64_t *index, const void *from, const index_walk *p) {
    const int64_t pitch[3] = {p->stride[0][p->rank - 1], p->stride[1][p->rank - 1], p->stride[2][p->rank - 1]};
    if (dtype == SC_F32) add_rows_f32(to, index, from, pitch, p->n);
    else if (dtype == SC_F64) add_rows_f64(to, index, from, pitch, p->n);
    else if (dtype == SC_I64) add_rows_8(to, index, from, pitch, p->n);
    return dtype == SC_F32 || dtype == SC_F64 || dtype == SC_I64;
}

/* ---- gather ---- */

static int gather_into(sc_ctx *cx, const sc_tensor *x, int d, const sc_tensor *index, sc_tensor *out) {
    size_t bytes = sc_dtype_size(x->dtype);
    index_walk p;
    index_walk_begin(&p, index, x, out, d, 1);
    do {
        const int64_t *row = (const int64_t *)index->data + p.at[0];
        if (check_indices(cx, row, p.step[0], p.n, d, size_of(x, d))) return -1;
        pick_row(bytes, (char *)out->data + (size_t)p.at[2] * bytes, (const char *)x->data + p.at[1] * (int64_t)bytes, p.step[1],
                 stride_of(x, d), row, p.step[0], p.n);
    } while (index_walk_next(&p));
    return 0;
}

SC_KERNEL sc_tensor *sc_gather(sc_ctx *cx, const sc_tensor *x, int64_t dim, const sc_tensor *index) {
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0 || check_shapes(cx, "gather", x, d, index, NULL)) return NULL;
    sc_tensor *out = sc_empty(cx, x->dtype, index->rank, index->size);
    if (!out || out->numel == 0) return out;
    sc_tensor *wide = wide_index(cx, index);
    if (!wide || gather_into(cx, x, d, wide, out)) {
        sc_release(cx, out);
        out = NULL;
    }
    sc_release(cx, wide);
    return out;
}

/* ---- index_select ---- */

static int check_position_type(sc_ctx *cx, const sc_tensor *x, const sc_tensor *index) {
    if (index->rank > 1) return sc_raise(cx, "IndexError", "index_select(): Index is supposed to be a vector");
    if (index->dtype != SC_I64 && index->dtype != SC_I32)
        return sc_raise(cx, "RuntimeError", "index_select(): Expected dtype int32 or int64 for index");
    if (x->rank == 0 && index->numel != 1)
        return sc_raise(cx, "RuntimeError", "index_select(): Index to scalar can have only 1 value, got %lld value(s)",
                        (long long)index->numel);
    return 0;
}

static int check_positions(sc_ctx *cx, const sc_tensor *x, int d, const int64_t *index, int64_t count) {
    int64_t n = size_of(x, d);
    if (n == 0 && count && x->rank > 1)
        return sc_raise(cx, "RuntimeError", "index_select(): self indexing axis dim should be positive");
    for (int64_t i = 0; i < count; i++) {
        int64_t k = index[i];
        if (k >= 0 && k < n) continue;
        if (x->rank > 1 && (d == 1 || x->numel == 0)) /* the message depends on the kernel that eager chooses */
            return sc_raise(cx, "RuntimeError", "INDICES element is out of DATA bounds, id=%lld axis_dim=%lld", (long long)k,
                            (long long)n);
        return sc_raise(cx, "IndexError", "index out of range in self");
    }
    return 0;
}

/* Return how many of the first of n indices count up by one, so that they name contiguous rows. */
static int64_t run_length(const int64_t *index, int64_t n) {
    int64_t i = 1;
    while (i < n && index[i] == index[0] + i) i++;
    return i;
}

static int64_t count_runs(const int64_t *index, int64_t n) {
    int64_t runs = 1;
    for (int64_t i = 1; i < n; i++) runs += index[i] != index[i - 1] + 1;
    return runs;
}

enum { LINE = 64, AHEAD = 4, AHEAD_BYTES = 1024 };

/* Prefetch a row. Rows may lie anywhere in memory, which the processor cannot predict, so the next ones are loaded
 * while others are copied. */
static void prefetch_row(const char *row, size_t bytes) {
    for (size_t at = 0; at < bytes && at < AHEAD_BYTES; at += LINE) __builtin_prefetch(row + at);
}

/* Copy the rows of the contiguous x at these indices. */
static void select_rows(const sc_tensor *x, int d, const int64_t *index, sc_tensor *out) {
    size_t item = sc_dtype_size(x->dtype);
    int64_t n = size_of(x, d), count = size_of(out, d), inner = 1;
    for (int k = d + 1; k < x->rank; k++) inner = sc_wrapped_product(inner, x->size[k]);
    size_t bytes = item * (size_t)inner;
    const char *from = x->data;
    char *to = out->data;
    bool single = inner == 1 && count_runs(index, count) * 32 > count;
    for (int64_t r = out->numel / (count * inner); r > 0; r--, from += (size_t)n * bytes) {
        if (single) {
            pick_row(item, to, from, 0, 1, index, 1, count);
            to += (size_t)count * item;
        } else
            for (int64_t i = 0, run; i < count; i += run, to += (size_t)run * bytes) {
                run = run_length(index + i, count - i);
                if (i + AHEAD < count) prefetch_row(from + (size_t)index[i + AHEAD] * bytes, bytes);
                sc_move_bytes(to, from + (size_t)index[i] * bytes, (size_t)run * bytes);
            }
    }
}

static int select_views(sc_ctx *cx, const sc_tensor *x, int d, const int64_t *index, sc_tensor *out) {
    for (int64_t i = 0; i < out->size[d]; i++) {
        sc_tensor *to = sc_select(cx, out, d, i), *from = to ? sc_select(cx, x, d, index[i]) : NULL;
        int failed = !from || sc_copy_into(cx, to, from);
        sc_release(cx, to);
        sc_release(cx, from);
        if (failed) return -1;
    }
    return 0;
}

SC_KERNEL sc_tensor *sc_index_select(sc_ctx *cx, const sc_tensor *x, int64_t dim, const sc_tensor *index) {
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0 || check_position_type(cx, x, index)) return NULL;
    sc_tensor *wide = wide_index(cx, index), *flat = wide ? sc_contiguous(cx, wide) : NULL, *out = NULL;
    sc_release(cx, wide);
    if (flat && check_positions(cx, x, d, flat->data, flat->numel) == 0) {
        int64_t size[SC_MAX_RANK];
        memcpy(size, x->size, sizeof size);
        if (x->rank) size[d] = index->numel;
        out = sc_empty(cx, x->dtype, x->rank, size);
    }
    if (out && out->numel && sc_is_contiguous(x)) select_rows(x, d, flat->data, out);
    else if (out && out->numel && select_views(cx, x, d, flat->data, out)) {
        sc_release(cx, out);
        out = NULL;
    }
    sc_release(cx, flat);
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

/* Write the initial value of an element of the result that does not take part in the reduction. */
static void reset_element(char *to, int dtype, int op) {
    double f = op == SC_SCATTER_PROD ? 1 : op == SC_SCATTER_AMAX ? -INFINITY : op == SC_SCATTER_AMIN ? INFINITY : 0;
    int64_t i = op == SC_SCATTER_PROD ? 1 : op == SC_SCATTER_AMAX ? INT64_MIN : op == SC_SCATTER_AMIN ? INT64_MAX : 0;
    if (sc_is_float(dtype)) sc_convert_row(to, dtype, 1, &f, SC_F64, 1, 1);
    else if (dtype == SC_I64) memcpy(to, &i, sizeof i);
    else { /* the limits of a narrower type */
        int bits = 8 * (int)sc_dtype_size(dtype) - (dtype != SC_U8);
        int64_t high = dtype == SC_BOOL ? 1 : ((int64_t)1 << bits) - 1, low = dtype == SC_BOOL || dtype == SC_U8 ? 0 : -high - 1;
        i = op == SC_SCATTER_AMAX ? low : op == SC_SCATTER_AMIN ? high : i;
        sc_convert_row(to, dtype, 1, &i, SC_I64, 1, 1);
    }
}

static void combine_element(char *to, const char *from, int dtype, int op) {
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

static void divide_element(char *at, int dtype, int64_t count) {
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

/* Scatter one row element by element, for operations without a loop of their own. */
static void combine_row(sc_tensor *out, int64_t step, const index_walk *p, const int64_t *index, const char *from, int op,
                        int64_t *count) {
    int64_t bytes = (int64_t)sc_dtype_size(out->dtype);
    for (int64_t j = 0; j < p->n; j++) {
        int64_t offset = p->at[1] + j * p->step[1] + index[j * p->step[0]] * step;
        char *to = (char *)out->data + offset * bytes;
        const char *value = from + j * p->step[2] * bytes;
        if (count && count[offset]++ == 0) reset_element(to, out->dtype, op);
        if (op == SC_SCATTER_SET) memcpy(to, value, (size_t)bytes);
        else combine_element(to, value, out->dtype, op);
    }
}

/* Scatter src into the contiguous out. count: the number of elements scattered to each element of out, or NULL. */
static int scatter_rows(sc_ctx *cx, sc_tensor *out, int d, const sc_tensor *index, const sc_tensor *src, int op, int64_t *count) {
    int64_t bytes = (int64_t)sc_dtype_size(out->dtype), step = stride_of(out, d);
    int64_t rows = 1;
    index_walk p;
    index_walk_begin(&p, index, out, src, d, 1);
    bool along = op == SC_SCATTER_ADD && !count && d == p.rank && p.step[0] == 1 && p.step[2] == 1 && step == 1;
    do {
        const int64_t *row = (const int64_t *)index->data + p.at[0];
        char *to = (char *)out->data + p.at[1] * bytes;
        const char *from = (const char *)src->data + p.at[2] * bytes;
        rows = along && index_walk_rows(&p) >= ADD_ROWS ? ADD_ROWS : 1;
        for (int64_t r = 0; r < rows; r++)
            if (check_indices(cx, row + (p.rank ? r * p.stride[0][p.rank - 1] : 0), p.step[0], p.n, d, size_of(out, d))) return -1;
        if (rows > 1 && add_rows(out->dtype, to, row, from, &p)) continue;
        rows = 1;
        if (op == SC_SCATTER_SET && !count)
            put_row((size_t)bytes, to, p.step[1], step, row, p.step[0], from, p.step[2], p.n);
        else if (op != SC_SCATTER_ADD || count || !add_row(out->dtype, to, p.step[1], step, row, p.step[0], from, p.step[2], p.n))
            combine_row(out, step, &p, row, from, op, count);
    } while (index_walk_pass(&p, rows));
    return 0;
}

/* Scatter a mean. If elements of out take part in the mean, their counts begin at 1. */
static int scatter_counted(sc_ctx *cx, sc_tensor *out, int d, const sc_tensor *index, const sc_tensor *src, int op, bool include_self) {
    const int64_t size[1] = {out->numel};
    sc_tensor *count = sc_full(cx, SC_I64, size, 1, 0, include_self);
    if (!count) return -1;
    int64_t *counts = count->data;
    int failed = scatter_rows(cx, out, d, index, src, op, counts);
    size_t bytes = sc_dtype_size(out->dtype);
    for (int64_t i = 0; !failed && op == SC_SCATTER_MEAN && i < out->numel; i++)
        if (counts[i] > 1) divide_element((char *)out->data + (size_t)i * bytes, out->dtype, counts[i]);
    sc_release(cx, count);
    return failed;
}

SC_KERNEL sc_tensor *sc_scatter(sc_ctx *cx, const sc_tensor *x, int64_t dim, const sc_tensor *index, const sc_tensor *src, int64_t op,
                                bool include_self, bool over) {
    int d = sc_wrap_dim(cx, dim, x->rank);
    if (d < 0 || check_shapes(cx, "scatter", x, d, index, src)) return NULL;
    over = over && src != x && index != x && sc_is_contiguous(x);
    sc_tensor *out = over ? sc_take(cx, (sc_tensor *)x, x->dtype, x->rank, x->size) : sc_empty(cx, x->dtype, x->rank, x->size);
    if (!out) return NULL;
    bool counted = op != SC_SCATTER_SET && (op == SC_SCATTER_MEAN || !include_self);
    int failed = out == x ? 0 : sc_copy_into(cx, out, x);
    if (!failed && index->numel) {
        sc_tensor *wide = wide_index(cx, index);
        failed = !wide                 ? -1
                 : counted             ? scatter_counted(cx, out, d, wide, src, (int)op, include_self)
                                       : scatter_rows(cx, out, d, wide, src, (int)op, NULL);
        sc_release(cx, wide);
    }
    if (!failed) return out;
    sc_release(cx, out);
    return NULL;
}

/* ---- nonzero ---- */

/* Write the positions of nonzero elements in a row of n, at most `count`, and return their number. To avoid branches,
 * each position is written, and overwritten by the next one if its element is zero. */
static int64_t nonzero_positions(const uint8_t *on, int64_t n, int64_t count, int64_t *to) {
    int64_t found = 0;
    for (int64_t i = 0; i < n && found < count; i++) {
        to[found] = i;
        found += on[i] != 0;
    }
    return found;
}

/* Write a column of `count` coordinates for each dim of x, row by row along the last dim. */
static void nonzero_columns(const sc_tensor *x, const uint8_t *on, int64_t count, int64_t *to) {
    int last = x->rank - 1;
    int64_t n = x->size[last], position[SC_MAX_RANK] = {0};
    for (int64_t at = 0; at < count; on += n) {
        int64_t found = nonzero_positions(on, n, count - at, to + last * count + at);
        for (int k = 0; k < last; k++)
            for (int64_t i = 0; i < found; i++) to[k * count + at + i] = position[k];
        at += found;
        for (int k = last; k-- > 0 && ++position[k] == x->size[k];) position[k] = 0;
    }
}

SC_KERNEL sc_tensor *sc_nonzero(sc_ctx *cx, const sc_tensor *x) {
    sc_tensor *truth = sc_to_dtype(cx, (sc_tensor *)x, SC_BOOL), *flat = truth ? sc_contiguous(cx, truth) : NULL;
    sc_tensor *out = NULL;
    if (flat) {
        const uint8_t *on = flat->data;
        int64_t size[2] = {0, x->rank};
        for (int64_t i = 0; i < flat->numel; i++) size[0] += on[i] != 0;
        const int64_t stride[2] = {1, size[0]}; /* a column per dim, as in eager */
        out = sc_empty_strided(cx, SC_I64, 2, size, stride);
        if (out && x->rank) nonzero_columns(x, on, size[0], out->data);
    }
    sc_release(cx, flat);
    sc_release(cx, truth);
    return out;
}
