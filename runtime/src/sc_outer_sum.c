/* sc_outer_sum.c - the sum over a loop of left^T right, for matrices of rows that each iteration adds: the gradient of a weight,
 * and, as sums of the columns of left, that of a bias. Rows are collected until a product of them is efficient, so that memory
 * does not grow with the number of iterations. All matrices that share their left one are multiplied as one. */
#include "sc_gemm.h"

enum {
    OUTER_ROWS = 128, /* collected: they stay in the second cache, and the sums are loaded and stored once for all of them */
    OUTER_FEW = 48,       /* in place of these, of matrices of one row whose sums stay in the second cache: more take much memory */
    OUTER_NEAR = 1 << 19, /* bytes of such sums */
    OUTER_TILES = 16, /* tiles of GEMM_MR columns of left in a piece of work */
};

/* The object is a list of buffers: some rows of left; as many of the right matrices, each in panels; the sums of columns; and
 * for each right matrix the sum of products, until it is taken. Numbers follow: the rows collected, whether there are no products
 * yet, and the columns of left. Then, for each right matrix, its first panel and its columns, and the number of panels. What lies
 * beside rows in the buffers has any value, and is only added to what nothing reads. */
enum { OUTER_LEFT, OUTER_RIGHT, OUTER_SUMS, OUTER_TOTALS };
enum { OUTER_COUNT, OUTER_FIRST, OUTER_M, OUTER_MATRICES };

typedef struct outer_job {
    const void *left, *right;
    const sc_value *totals, *matrices; /* of the right matrices: sums of products; first panels and columns */
    int64_t rows, room, m, lda, tiles, chunks; /* room: for so many rows */
    bool first;
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
    return (rounded_up(rounded_up(rounded_up(m, GEMM_MR), width_of(dtype)), line) / line | 1) * line; /* short vectors fill no line */
}

static sc_value *numbers_of(sc_list *s) { return s->items + s->len; }

SC_KERNEL sc_list *sc_outer_sum_new(sc_ctx *cx, int matrices) {
    int held = OUTER_TOTALS + matrices - 1;
    sc_list *s = sc_list_new(cx, SC_OBJECTS, held + OUTER_MATRICES + 2 * (matrices - 1) + 1);
    if (!s) return NULL;
    for (int i = 0; i < held; i++) s->items[i].t = NULL;
    s->len = held;
    return s;
}

/* Make the buffers for matrices like the given ones, the first of which is the left one. */
static int begin(sc_ctx *cx, sc_list *s, sc_tensor *const *x, int count) {
    sc_value *number = numbers_of(s), *matrix = number + OUTER_MATRICES;
    int dtype = x[0]->dtype;
    int64_t m = x[0]->size[1], width = width_of(dtype), panels = 0;
    number[OUTER_COUNT].i = 0, number[OUTER_FIRST].i = 1, number[OUTER_M].i = m;
    for (int i = 1; i < count; i++, matrix += 2) {
        int64_t n = x[i]->size[1];
        matrix[0].i = panels, matrix[1].i = n;
        panels += (n + width - 1) / width;
        if (!(s->items[OUTER_TOTALS + i - 1].t = sc_empty(cx, dtype, 2, (int64_t[]){m, n}))) return -1;
    }
    matrix->i = panels;
    const bool few = x[0]->size[0] == 1 && m * panels * width * (int64_t)sc_dtype_size(dtype) <= OUTER_NEAR;
    const int64_t room = few ? OUTER_FEW : OUTER_ROWS;
    if (!(s->items[OUTER_LEFT].t = sc_empty(cx, dtype, 2, (int64_t[]){room, left_step(m, dtype)}))) return -1;
    if (!(s->items[OUTER_RIGHT].t = sc_empty(cx, dtype, 2, (int64_t[]){room, panels * width}))) return -1;
    return (s->items[OUTER_SUMS].t = sc_full(cx, dtype, (int64_t[]){left_step(m, dtype)}, 1, 0, 0)) ? 0 : -1;
}

/* Add the products of the collected rows to the sums. */
static void multiply(sc_ctx *cx, sc_list *s) {
    const sc_tensor *left = s->items[OUTER_LEFT].t;
    sc_value *number = numbers_of(s);
    int64_t rows = number[OUTER_COUNT].i, m = number[OUTER_M].i, matrices = s->len - OUTER_TOTALS;
    int64_t panels = number[OUTER_MATRICES + 2 * matrices].i, tiles = (m + GEMM_MR - 1) / GEMM_MR;
    outer_job job = {left->data, s->items[OUTER_RIGHT].t->data, s->items + OUTER_TOTALS, number + OUTER_MATRICES, rows,
                     left->size[0], m, left->size[1], tiles, (tiles + OUTER_TILES - 1) / OUTER_TILES, number[OUTER_FIRST].i};
    double ns = gemm_ns(m, panels * width_of(left->dtype), rows, sc_dtype_size(left->dtype));
    sc_parallel(cx, panels * job.chunks, 1, ns, left->dtype == SC_F32 ? outer_part_f32 : outer_part_f64, &job);
    void *sums = s->items[OUTER_SUMS].t->data;
    if (left->dtype == SC_F32) outer_add_rows_f32(rows, rounded_up(m, outer_LANES_f32), left->data, left->size[1], sums);
    else outer_add_rows_f64(rows, rounded_up(m, outer_LANES_f64), left->data, left->size[1], sums);
    number[OUTER_COUNT].i = 0, number[OUTER_FIRST].i = 0;
}

/* Copy n elements, `step` apart, to contiguous memory. */
static void copy_row(int64_t n, size_t item, const char *from, int64_t step, char *to) {
    if (step == 1) memcpy(to, from, (size_t)n * item);
    else
        for (int64_t i = 0; i < n; i++) memcpy(to + (size_t)i * item, from + i * step * (int64_t)item, item);
}

/* Copy rows from..from + count of the right matrix x to its panels, the first of which is `panel` of all, from a row on. */
static void put_right(const sc_tensor *x, int64_t from, int64_t count, int64_t panel, int64_t row, sc_tensor *panels) {
    int64_t width = width_of(x->dtype), item = (int64_t)sc_dtype_size(x->dtype);
    for (int64_t j = 0, n; j < x->size[1]; j += n, panel++) {
        n = width < x->size[1] - j ? width : x->size[1] - j;
        const char *source = (const char *)x->data + (from * x->stride[0] + j * x->stride[1]) * item;
        char *to = (char *)panels->data + (panel * panels->size[0] + row) * width * item;
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
    sc_value *number = numbers_of(s), *matrix = number + OUTER_MATRICES;
    int64_t m = x[0]->size[1], item = (int64_t)sc_dtype_size(x[0]->dtype);
    if (m != number[OUTER_M].i) return refuse(cx, number[OUTER_M].i, m, 0);
    for (int i = 1; i < count; i++) {
        int64_t n = matrix[2 * i - 1].i;
        if (x[i]->size[1] != n) return refuse(cx, n, x[i]->size[1], 1);
        if (x[i]->size[0] != x[0]->size[0])
            return sc_raise(cx, "RuntimeError", "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)", (long long)m,
                            (long long)x[0]->size[0], (long long)x[i]->size[0], (long long)n);
    }
    sc_tensor *left = s->items[OUTER_LEFT].t;
    for (int64_t from = 0, rows; from < x[0]->size[0]; from += rows) {
        int64_t at = number[OUTER_COUNT].i;
        rows = x[0]->size[0] - from < left->size[0] - at ? x[0]->size[0] - from : left->size[0] - at;
        for (int64_t i = 0; i < rows; i++)
            copy_row(m, (size_t)item, (const char *)x[0]->data + (from + i) * x[0]->stride[0] * item, x[0]->stride[1],
                     (char *)left->data + (at + i) * left->size[1] * item);
        for (int i = 1; i < count; i++) put_right(x[i], from, rows, matrix[2 * i - 2].i, at, s->items[OUTER_RIGHT].t);
        if ((number[OUTER_COUNT].i = at + rows) == left->size[0]) multiply(cx, s);
    }
    return 0;
}

SC_KERNEL sc_tensor *sc_outer_sum_part(sc_ctx *cx, sc_list *s, int part) {
    if (!s->items[OUTER_SUMS].t) {
        sc_raise(cx, "RuntimeError", "a sum of no matrices has no sizes");
        return NULL;
    }
    sc_value *number = numbers_of(s);
    if (number[OUTER_COUNT].i || number[OUTER_FIRST].i) multiply(cx, s);
    if (part >= 0) { /* moved: no op takes a part twice, nor adds to the sums when one is taken */
        sc_tensor *total = s->items[OUTER_TOTALS + part].t;
        s->items[OUTER_TOTALS + part].t = NULL;
        if (!total) sc_raise(cx, "RuntimeError", "a sum of products was taken twice");
        return total;
    }
    const sc_tensor *sums = s->items[OUTER_SUMS].t;
    sc_tensor *out = sc_empty(cx, sums->dtype, 1, &number[OUTER_M].i);
    if (out) memcpy(out->data, sums->data, (size_t)out->numel * sc_dtype_size(sums->dtype));
    return out;
}
