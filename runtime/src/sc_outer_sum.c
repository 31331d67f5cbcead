/* sc_outer_sum.c - the sum over a loop of left^T right, for matrices of rows that each iteration adds: the gradient of a weight,
 * and, as sums of the columns of left, that of a bias. Rows are collected until a product of them is efficient, so that memory
 * does not grow with the number of iterations. All matrices that share their left one are multiplied as one. */
#include "sc_gemm.h"

enum {
    OUTER_ROWS = 128, /* collected: they stay in the second cache, and the sums are loaded and stored once for all of them */
    OUTER_TILES = 16, /* tiles of GEMM_MR columns of left in a piece of work */
};

/* The object is a list of buffers: OUTER_ROWS rows of left; of the right matrices side by side, in panels; the sums of
 * products; and the sums of columns. Numbers follow: the rows collected, the columns of left and of all right matrices, then
 * where each right matrix begins, and where the last one ends. */
enum { OUTER_LEFT, OUTER_RIGHT, OUTER_TOTAL, OUTER_SUMS, OUTER_HELD, OUTER_COUNT = OUTER_HELD, OUTER_M, OUTER_N, OUTER_STARTS };

typedef struct outer_job {
    const void *left, *right;
    void *total;
    int64_t rows, n, lda, ldc, tiles, chunks;
} outer_job;

#define T float
#define N(name) outer_##name##_f32
#include "sc_outer_sum_tile.inc"
#undef T
#undef N
#define T double
#define N(name) outer_##name##_f64
#include "sc_outer_sum_tile.inc"
#undef T
#undef N

static int64_t rounded_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }
static int64_t width_of(int dtype) { return dtype == SC_F32 ? outer_WIDTH_f32 : outer_WIDTH_f64; }

/* Return the elements between rows of left: whole tiles and vectors, and an odd number of cache lines, so that the elements of a
 * column lie in many sets of a cache. */
static int64_t left_step(int64_t m, int dtype) {
    int64_t line = 64 / (int64_t)sc_dtype_size(dtype);
    return (rounded_up(rounded_up(m, GEMM_MR), width_of(dtype)) / line | 1) * line;
}

SC_KERNEL sc_list *sc_outer_sum_new(sc_ctx *cx, int matrices) {
    sc_list *s = sc_list_new(cx, SC_OBJECTS, OUTER_STARTS + matrices);
    if (!s) return NULL;
    for (int i = 0; i < OUTER_HELD; i++) s->items[i].t = NULL;
    s->len = OUTER_HELD, s->items[OUTER_COUNT].i = 0;
    return s;
}

static sc_tensor *zeros(sc_ctx *cx, int dtype, int64_t rows, int64_t columns) {
    return sc_full(cx, dtype, (int64_t[]){rows, columns}, 2, 0, 0);
}

/* Make the buffers for matrices like the given ones, the first of which is the left one. */
static int begin(sc_ctx *cx, sc_list *s, sc_tensor *const *x, int count) {
    int dtype = x[0]->dtype;
    int64_t m = x[0]->size[1], n = 0;
    for (int i = 1; i < count; i++) {
        s->items[OUTER_STARTS + i - 1].i = n;
        n += x[i]->size[1];
    }
    s->items[OUTER_STARTS + count - 1].i = n, s->items[OUTER_COUNT].i = 0, s->items[OUTER_M].i = m, s->items[OUTER_N].i = n;
    int64_t columns = rounded_up(n, width_of(dtype));
    if (!(s->items[OUTER_LEFT].t = zeros(cx, dtype, OUTER_ROWS, left_step(m, dtype)))) return -1;
    if (!(s->items[OUTER_RIGHT].t = zeros(cx, dtype, OUTER_ROWS, columns))) return -1;
    if (!(s->items[OUTER_TOTAL].t = zeros(cx, dtype, rounded_up(m, GEMM_MR), columns))) return -1;
    return (s->items[OUTER_SUMS].t = zeros(cx, dtype, 1, left_step(m, dtype))) ? 0 : -1;
}

/* Add the products of the collected rows to the sums. */
static void multiply(sc_ctx *cx, sc_list *s) {
    const sc_tensor *left = s->items[OUTER_LEFT].t, *total = s->items[OUTER_TOTAL].t;
    int64_t rows = s->items[OUTER_COUNT].i, m = s->items[OUTER_M].i, n = s->items[OUTER_N].i;
    int64_t tiles = (m + GEMM_MR - 1) / GEMM_MR, chunks = (tiles + OUTER_TILES - 1) / OUTER_TILES;
    outer_job job = {left->data, s->items[OUTER_RIGHT].t->data, total->data, rows, n, left->size[1], total->size[1], tiles, chunks};
    int64_t pieces = chunks * ((n + width_of(left->dtype) - 1) / width_of(left->dtype));
    double ns = gemm_ns(m, n, rows, sc_dtype_size(left->dtype));
    sc_parallel(cx, pieces, 1, ns, left->dtype == SC_F32 ? outer_part_f32 : outer_part_f64, &job);
    void *sums = s->items[OUTER_SUMS].t->data;
    if (left->dtype == SC_F32) outer_add_rows_f32(rows, rounded_up(m, outer_LANES_f32), left->data, left->size[1], sums);
    else outer_add_rows_f64(rows, rounded_up(m, outer_LANES_f64), left->data, left->size[1], sums);
    s->items[OUTER_COUNT].i = 0;
}

/* Copy n elements, `step` apart, to contiguous memory. */
static void copy_row(int64_t n, size_t item, const char *from, int64_t step, char *to) {
    if (step == 1) memcpy(to, from, (size_t)n * item);
    else
        for (int64_t i = 0; i < n; i++) memcpy(to + (size_t)i * item, from + i * step * (int64_t)item, item);
}

/* Copy rows from..from + count of the right matrix x, whose columns begin at column `at` of all, to rows of the panels. */
static void put_right(const sc_tensor *x, int64_t from, int64_t count, int64_t at, int64_t row, sc_tensor *panels) {
    int64_t width = width_of(x->dtype), item = (int64_t)sc_dtype_size(x->dtype);
    for (int64_t j = 0, n; j < x->size[1]; j += n, at += n) {
        int64_t within = at % width;
        n = width - within < x->size[1] - j ? width - within : x->size[1] - j;
        const char *source = (const char *)x->data + (from * x->stride[0] + j * x->stride[1]) * item;
        char *to = (char *)panels->data + ((at / width * OUTER_ROWS + row) * width + within) * item;
        for (int64_t i = 0; i < count; i++, source += x->stride[0] * item, to += width * item)
            copy_row(n, (size_t)item, source, x->stride[1], to);
    }
}

/* Raise the error of adding sums of other sizes. */
static int refuse(sc_ctx *cx, int64_t have, int64_t given, int dim) {
    return sc_raise(cx, "RuntimeError", "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton dimension %d",
                    (long long)have, (long long)given, dim);
}

SC_KERNEL int sc_outer_sum_add(sc_ctx *cx, sc_list *s, sc_tensor *const *x, int count) {
    if (!s->items[OUTER_SUMS].t && begin(cx, s, x, count) < 0) return -1;
    sc_value *number = s->items;
    int64_t m = x[0]->size[1], item = (int64_t)sc_dtype_size(x[0]->dtype);
    if (m != number[OUTER_M].i) return refuse(cx, number[OUTER_M].i, m, 0);
    for (int i = 1; i < count; i++) {
        int64_t n = number[OUTER_STARTS + i].i - number[OUTER_STARTS + i - 1].i;
        if (x[i]->size[1] != n) return refuse(cx, n, x[i]->size[1], 1);
        if (x[i]->size[0] != x[0]->size[0])
            return sc_raise(cx, "RuntimeError", "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)", (long long)m,
                            (long long)x[0]->size[0], (long long)x[i]->size[0], (long long)n);
    }
    sc_tensor *left = s->items[OUTER_LEFT].t;
    for (int64_t from = 0, rows; from < x[0]->size[0]; from += rows) {
        int64_t at = number[OUTER_COUNT].i;
        rows = x[0]->size[0] - from < OUTER_ROWS - at ? x[0]->size[0] - from : OUTER_ROWS - at;
        for (int64_t i = 0; i < rows; i++)
            copy_row(m, (size_t)item, (const char *)x[0]->data + (from + i) * x[0]->stride[0] * item, x[0]->stride[1],
                     (char *)left->data + (at + i) * left->size[1] * item);
        for (int i = 1; i < count; i++) put_right(x[i], from, rows, number[OUTER_STARTS + i - 1].i, at, s->items[OUTER_RIGHT].t);
        if ((number[OUTER_COUNT].i = at + rows) == OUTER_ROWS) multiply(cx, s);
    }
    return 0;
}

SC_KERNEL sc_tensor *sc_outer_sum_part(sc_ctx *cx, sc_list *s, int part) {
    if (!s->items[OUTER_SUMS].t) {
        sc_raise(cx, "RuntimeError", "a sum of no matrices has no sizes");
        return NULL;
    }
    if (s->items[OUTER_COUNT].i) multiply(cx, s);
    const sc_value *start = s->items + OUTER_STARTS + part;
    const bool of_columns = part < 0;
    const sc_tensor *from = s->items[of_columns ? OUTER_SUMS : OUTER_TOTAL].t;
    int64_t m = s->items[OUTER_M].i, n = of_columns ? m : start[1].i - start[0].i, item = (int64_t)sc_dtype_size(from->dtype);
    sc_tensor *out = of_columns ? sc_empty(cx, from->dtype, 1, &m) : sc_empty(cx, from->dtype, 2, (int64_t[]){m, n});
    if (!out) return NULL;
    const char *source = (const char *)from->data + (of_columns ? 0 : start[0].i * item);
    char *to = out->data;
    for (int64_t i = 0; i < (of_columns ? 1 : m); i++, source += from->size[1] * item, to += n * item) memcpy(to, source, (size_t)(n * item));
    return out;
}
