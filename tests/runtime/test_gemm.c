/* test_gemm.c - contractions, convolution and pooling against plain loops. Values are small integers, so every sum is
 * exact in every dtype and results are compared for equality. */
#include "tensors.h"

#include "../../runtime/include/sc_ops.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- linear and two-dimensional matmul ---- */

static void expect_size(const sc_tensor *t, int rank, const int64_t *size, const char *what, const char *detail) {
    bool ok = t && t->rank == rank && sc_is_contiguous(t);
    for (int d = 0; ok && d < rank; d++) ok = t->size[d] == size[d];
    expect(ok, what, detail);
}

static const int64_t edges[] = {0, 1, 2, 15, 16, 17, 63, 64, 65, 130};
enum { EDGES = sizeof edges / sizeof *edges };

/* y[i, j] against sum x[i, l] w[j, l] + bias[j]; wt: w is [K, N] */
static void expect_product(const sc_tensor *y, const sc_tensor *x, const sc_tensor *w, bool wt, const sc_tensor *bias,
                           const char *what) {
    int64_t m = x->size[0], k = x->size[1], n = w->size[wt];
    char detail[80];
    snprintf(detail, sizeof detail, "M %d N %d K %d", (int)m, (int)n, (int)k);
    expect_size(y, 2, (int64_t[]){m, n}, what, detail);
    if (!y) return;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = bias ? at(bias, j) : 0;
            for (int64_t l = 0; l < k; l++) {
                int64_t f = wt ? l * w->stride[0] + j * w->stride[1] : j * w->stride[0] + l * w->stride[1];
                sum += get(x, i * x->stride[0] + l * x->stride[1]) * get(w, f);
            }
            if (!same(get(y, i * n + j), sum)) {
                expect(false, what, detail);
                return;
            }
        }
}

static void check_products(int dtype, int64_t m, int64_t n, int64_t k, int layout_x, int layout_w, bool with_bias) {
    sc_tensor *x = MAKE(dtype, layout_x, m, k), *w = MAKE(dtype, layout_w, n, k), *wt = MAKE(dtype, layout_w, k, n);
    sc_tensor *bias = with_bias ? MAKE(dtype, 0, n) : NULL, *y;
    expect_product(y = sc_linear(cx, x, w, bias), x, w, false, bias, "linear");
    sc_release(cx, y);
    sc_packed *packed = sc_pack_linear(cx, &w, 1);
    int turns = m == 1 ? 7 : n * k > 340000 ? 6 : 2; /* large ones take the panels in the other order the second time; some pack late */
    for (int turn = 0; turn < turns; turn++) {
        expect_product(y = sc_linear_packed(cx, x, packed, bias), x, w, false, bias, "linear_packed");
        sc_release(cx, y);
    }
    expect_product(y = sc_matmul(cx, x, wt), x, wt, true, NULL, "matmul");
    sc_ctx_unwind(cx);
}

/* Products ahead of a loop, and sums that start with something, against each alone. */
static void check_ahead(int dtype, int64_t steps, int64_t batch, int64_t dim, int64_t step, bool sure) {
    sc_tensor *x = dim ? MAKE(dtype, 0, batch, steps, 3) : MAKE(dtype, 0, steps, batch, 3), *w = MAKE(dtype, 0, 5, 3);
    sc_tensor *bias = MAKE(dtype, 0, 5), *kept = NULL;
    sc_packed *packed = sc_pack_linear(cx, &w, 1);
    sc_list *ahead = sc_rows_new(cx), *items = sc_list_new(cx, SC_OBJECTS, 0), *of_items = sc_rows_new(cx);
    for (int64_t t = 0; t < steps; t++) sc_list_append(cx, items, SC_OBJECTS, (sc_value){.t = sc_select(cx, x, dim, t)});
    double first = 0;
    for (int64_t k = 0; k < steps; k++) {
        int64_t t = step > 0 ? k : steps - 1 - k, stop = step > 0 ? steps : -1;
        const sc_tensor *row = items->items[t].t;
        sc_tensor *alone = sc_linear_packed(cx, row, packed, bias);
        sc_tensor *y = sc_linear_rows(cx, ahead, x, t, stop, packed, bias, dim, step, sure);
        sc_tensor *z = sc_linear_items(cx, of_items, items, t, stop, packed, bias, step, sure);
        sc_tensor *sum = sc_linear_add(cx, row, packed, bias, y, k & 1), *wide = sc_linear_add(cx, row, packed, NULL, bias, k & 1);
        for (int64_t i = 0; i < batch * 5; i++) {
            double bare = at(alone, i) - at(bias, i % 5);
            expect(at(y, i) == at(alone, i) && at(z, i) == at(alone, i), "linear_rows", "");
            expect(at(sum, i) == 2 * at(alone, i) && at(wide, i) == bare + at(bias, i % 5), "linear_add", "");
        }
        if (k == 0) kept = y, first = at(y, 0); /* somebody keeps a row */
        else sc_release(cx, y);
        sc_release(cx, z);
        sc_release(cx, alone);
        sc_release(cx, sum);
        sc_release(cx, wide);
    }
    if (kept) expect(at(kept, 0) == first, "linear_rows", "that is kept");
    sc_ctx_unwind(cx);
}

static void test_ahead(void) {
    for (int i = 0; i < 16; i++)
        for (int64_t steps = 1; steps < 200; steps = 3 * steps + 1)
            check_ahead(i & 1 ? SC_F32 : SC_F64, steps, i % 5 == 4 ? 50 : 1 + i % 3, i >> 1 & 1, i & 4 ? -1 : 1, i & 8);
}

static void test_products(void) {
    for (int64_t m = 0; m < 10; m++)
        for (int i = 0; i < EDGES; i++)
            for (int j = 0; j < EDGES; j++) {
                int turn = (int)m + i + j; /* layouts and bias take turns; each meets every size */
                check_products(SC_F32, m, edges[i], edges[j], turn % 3, (turn + i) % 3, turn & 1);
                if (m < 3 || m == 7) check_products(SC_F64, m, edges[i], edges[j], turn % 3, (turn + j) % 3, turn & 1);
            }
    static const int64_t large[][3] = {{13, 100, 1030}, {49, 70, 600}, {50, 48, 33}, {3, 33, 513}, {1, 200, 1025}, {1, 1500, 9},
                                       {100, 1, 70}, {16, 67, 1}, {29, 130, 1030}, {64, 300, 9}, {79, 330, 70}, {130, 530, 33}};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        for (int layout = 0; layout < 9; layout++)
            check_products(layout & 1 ? SC_F64 : SC_F32, large[i][0], large[i][1], large[i][2], layout % 3, layout / 3, layout & 2);
    for (int64_t m = 1; m < 14; m += 3) check_products(SC_F32, m, 340, 1030, 0, 0, true); /* beyond GEMM_FAR */
    check_products(SC_F32, 1, 331, 1031, 0, 0, false);
    check_products(SC_F64, 1, 200000, 1, 0, 0, false);
    check_products(SC_F32, 1, 4100, 1030, 0, 0, true); /* beyond GEMM_MEMORY */
    for (int dtype = SC_U8; dtype <= SC_BF16; dtype++)
        for (int layout = 0; layout < 3; layout++) check_products(dtype, 3, 5, dtype == SC_U8 || dtype == SC_I8 ? 3 : 8, layout, 0, dtype != SC_U8);
}

/* The panels of large frozen weights are made by the first product that does not read the weight as it lies, and kept. */
static void check_waiting(int dtype, int slot, int64_t rows, int calls, int64_t last_rows) {
    const int64_t n = 603, k = 600;
    for (int call = 0; call < calls + 2; call++) {
        sc_tensor *x = MAKE(dtype, 0, call < calls ? rows : last_rows, k), *w = MAKE(dtype, 0, n, k), *bias = MAKE(dtype, 0, n), *y;
        for (int64_t i = 0; i < n * k; i++) set(w, i, (double)(i % 7 - 3));
        sc_packed *packed = sc_pack_linear_kept(cx, &w, 1, slot, dtype), *again = sc_pack_linear_kept(cx, &w, 1, slot, dtype);
        expect((packed->source != NULL) == (call <= calls) && sc_has_kept(cx, slot), "kept", "before the product");
        expect_product(y = sc_linear_packed(cx, x, packed, bias), x, w, false, bias, "linear of a weight that waits");
        expect((packed->source != NULL) == (call < calls), "kept", "behind the product");
        sc_tensor *sum = sc_linear_add(cx, x, again, bias, y, true);
        for (int64_t i = 0; i < sum->numel; i++)
            if (at(sum, i) != 2 * at(y, i)) expect(false, "linear_add", "of a weight that waits");
        expect(again->storage == packed->storage && (again->source != NULL) == (call < calls), "kept", "twice");
        sc_ctx_unwind(cx);
    }
}

static void test_waiting(void) {
    check_waiting(SC_F32, 1, 64, 4, 64); /* two products a call */
    check_waiting(SC_F64, 2, 96, 4, 96);
    check_waiting(SC_F32, 3, 32, 2, 12); /* few rows */
    check_waiting(SC_F64, 4, 16, 1, 1);
    check_waiting(SC_F32, 5, 64, 0, 300); /* many rows */
}

/* ---- sums of products over iterations ---- */

/* Compare sums over `steps` matrices of `rows` rows with loops. Layouts take turns. */
static void check_outer_sum(int dtype, int64_t steps, int64_t rows, int64_t m, int64_t n, int64_t k) {
    double *want = calloc((size_t)(m * (n + k + 1)) + 1, sizeof *want);
    sc_list *sums = sc_outer_sum_new(cx, 3);
    const int64_t width[2] = {n, k};
    for (int64_t t = 0; t < steps; t++) {
        int layout = (int)(t % 3);
        sc_tensor *x[3] = {MAKE(dtype, layout, rows, m), MAKE(dtype, (layout + 1) % 3, rows, n), MAKE(dtype, layout, rows, k)};
        for (int64_t r = 0; r < rows; r++)
            for (int64_t i = 0; i < m; i++) {
                double *sum = want, left = at(x[0], r * m + i);
                for (int part = 0; part < 2; sum += m * width[part++])
                    for (int64_t j = 0; j < width[part]; j++) sum[i * width[part] + j] += left * at(x[part + 1], r * width[part] + j);
                sum[i] += left;
            }
        expect(sc_outer_sum_add(cx, sums, x, 3) == 0, "outer_sum_add", "");
        for (int i = 0; i < 3; i++) sc_release(cx, x[i]);
    }
    const double *sum = want;
    for (int part = 0; part < 3; part++) {
        int64_t size[2] = {m, part < 2 ? width[part] : 1};
        sc_tensor *y = sc_outer_sum_part(cx, sums, part < 2 ? part : -1);
        expect_size(y, part < 2 ? 2 : 1, size, "outer_sum_part", "");
        bool ok = y != NULL;
        for (int64_t i = 0; ok && i < y->numel; i++) ok = get(y, i) == sum[i];
        expect(ok, "outer_sum_part", "values");
        sum += size[0] * size[1];
    }
    free(want);
    sc_ctx_unwind(cx);
}

static void test_outer_sums(void) {
    static const int64_t sizes[][5] = {{1, 1, 1, 1, 1}, {3, 1, 6, 64, 17}, {130, 1, 7, 65, 3}, {300, 1, 13, 130, 1}, {2, 300, 5, 16, 33},
                                       {128, 1, 12, 64, 0}, {4, 0, 4, 9, 2}, {1, 2, 97, 31, 128}, {2, 1, 0, 3, 2}, {257, 2, 18, 47, 63}};
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        const int64_t *s = sizes[i / 2];
        check_outer_sum(i & 1 ? SC_F32 : SC_F64, s[0], s[1], s[2], s[3], s[4]);
    }
    sc_list *none = sc_outer_sum_new(cx, 2);
    expect_error(sc_outer_sum_part(cx, none, 0), "RuntimeError", "a sum of no matrices has no sizes");
    sc_ctx_unwind(cx);
}

/* ---- other ranks ---- */

static void test_batches(void) {
    static const struct { int ra, rb; int64_t a[4], b[4]; } rows[] = {
        {1, 1, {5}, {5}}, {2, 1, {3, 5}, {5}}, {1, 2, {5}, {5, 17}}, {3, 2, {2, 3, 5}, {5, 4}}, {3, 1, {2, 3, 5}, {5}},
        {1, 3, {5}, {2, 5, 4}}, {2, 3, {3, 5}, {2, 5, 4}}, {3, 3, {2, 3, 5}, {2, 5, 4}}, {4, 3, {2, 1, 3, 5}, {3, 5, 4}},
        {4, 4, {2, 1, 3, 5}, {1, 3, 5, 20}}, {3, 3, {0, 3, 5}, {1, 5, 4}}, {4, 2, {2, 2, 3, 5}, {5, 33}}, {3, 3, {2, 3, 0}, {2, 0, 4}},
        {2, 4, {3, 5}, {2, 2, 5, 18}}, {3, 2, {2, 0, 5}, {5, 4}}, {4, 1, {2, 2, 3, 5}, {5}}, {3, 4, {1, 1, 5}, {2, 3, 5, 1}}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int layout = 0; layout < 9; layout++) {
            int ra = rows[r].ra, rb = rows[r].rb, rank = ra > rb ? ra : rb;
            sc_tensor *a = make(SC_F32, ra, rows[r].a, layout % 3), *b = make(SC_F32, rb, rows[r].b, layout / 3);
            sc_tensor *y = sc_matmul(cx, a, b);
            char detail[40];
            snprintf(detail, sizeof detail, "row %d layout %d", (int)r, layout);
            int64_t m = ra == 1 ? 1 : a->size[ra - 2], k = a->size[ra - 1], n = rb == 1 ? 1 : b->size[rb - 1], size[4], batch[2] = {1, 1};
            int full = 0;
            for (int d = 0; d < rank - 2; d++) { /* dimension d of the batch, from the left */
                int da = d + ra - rank, db = d + rb - rank;
                int64_t sa = da >= 0 && da < ra - 2 ? a->size[da] : 1, sb = db >= 0 && db < rb - 2 ? b->size[db] : 1;
                size[full++] = batch[d + 4 - rank] = sa == 1 ? sb : sa;
            }
            if (ra > 1) size[full++] = m;
            if (rb > 1) size[full++] = n;
            expect_size(y, full, size, "matmul shape", detail);
            for (int64_t i = 0; y && i < y->numel; i++) {
                int64_t col = i % n, row = i / n % m, outer = i / n / m, fa = 0, fb = 0;
                for (int d = 1; d >= 0; outer /= batch[d], d--) { /* batch dimension d - 2 counts from the matrix */
                    int64_t p = outer % batch[d];
                    int da = ra - 4 + d, db = rb - 4 + d;
                    if (da >= 0 && a->size[da] > 1) fa += p * a->stride[da];
                    if (db >= 0 && b->size[db] > 1) fb += p * b->stride[db];
                }
                double sum = 0;
                for (int64_t l = 0; l < k; l++)
                    sum += get(a, fa + (ra > 1 ? row * a->stride[ra - 2] : 0) + l * a->stride[ra - 1]) *
                           get(b, fb + l * b->stride[rb > 1 ? rb - 2 : 0] + (rb > 1 ? col * b->stride[rb - 1] : 0));
                if (!same(get(y, i), sum)) {
                    expect(false, "matmul values", detail);
                    break;
                }
            }
            sc_ctx_unwind(cx);
        }
}

static void test_linear_ranks_and_biases(void) {
    sc_tensor *w = MAKE(SC_F32, 0, 18, 7), *y;
    sc_packed *packed = sc_pack_linear(cx, &w, 1);
    sc_tensor *biases[] = {NULL, MAKE(SC_F32, 0, 18), MAKE(SC_F32, 2, 18), MAKE(SC_F32, 0, 1), make(SC_F32, 0, (int64_t[]){0}, 0), MAKE(SC_F32, 1, 3, 18)};
    sc_tensor *x = MAKE(SC_F32, 1, 2, 3, 7);
    for (int b = 0; b < 6; b++)
        for (int form = 0; form < 2; form++) {
            y = form ? sc_linear_packed(cx, x, packed, biases[b]) : sc_linear(cx, x, w, biases[b]);
            expect_size(y, 3, (int64_t[]){2, 3, 18}, "linear", "rank 3");
            for (int64_t i = 0; y && i < y->numel; i++) {
                double sum = !biases[b] ? 0 : at(biases[b], b == 5 ? i % 54 : b >= 3 ? 0 : i % 18);
                for (int64_t l = 0; l < 7; l++) sum += at(x, i / 18 * 7 + l) * at(w, i % 18 * 7 + l);
                if (!same(get(y, i), sum)) expect(false, "linear", "rank 3 values");
            }
        }
    expect_size(sc_linear(cx, MAKE(SC_F32, 2, 7), w, NULL), 1, (int64_t[]){18}, "linear", "rank 1");
    expect_size(sc_linear(cx, MAKE(SC_F32, 0, 2, 7), MAKE(SC_F32, 0, 7), NULL), 1, (int64_t[]){2}, "linear", "vector weight");
    expect_size(sc_linear(cx, MAKE(SC_F32, 2, 2, 3, 7), MAKE(SC_F32, 0, 7), biases[4]), 2, (int64_t[]){2, 3}, "linear", "vector and bias");
    sc_ctx_unwind(cx);
}

static void twice_plus_one(float *x, int64_t rows, int64_t n, int64_t stride) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < n; i++) x[r * stride + i] = 2 * x[r * stride + i] + 1;
}
/* Each result goes through the activation once, in whichever direction and in however many parts panels are read. */
static void test_activations(void) {
    static const int64_t rows[] = {0, 1, 2, 7, 70, 200, 400}, columns[] = {1, 15, 64, 130, 700}, depths[] = {0, 5, 600};
    for (int i = 0; i < 7 * 5 * 3; i++) {
        int64_t m = rows[i % 7], n = columns[i / 7 % 5], k = depths[i / 35];
        sc_tensor *x = MAKE(SC_F32, i % 2 ? 2 : 0, m, k), *w = MAKE(SC_F32, 0, n, k), *bias = MAKE(SC_F32, 0, n);
        sc_packed *packed = sc_pack_linear(cx, &w, 1);
        sc_tensor *expected = sc_linear_packed(cx, x, packed, bias);
        for (int again = 0; again < 2; again++) {
            sc_tensor *y = sc_linear_activated(cx, x, packed, bias, twice_plus_one);
            expect_size(y, 2, (int64_t[]){m, n}, "linear_activated", "size");
            bool equal = true;
            for (int64_t j = 0; j < m * n; j++) {
                double once = 2 * get(expected, j) + 1;
                equal = equal && fabs(get(y, j) - once) <= 1e-5 * (1 + fabs(once)); /* the order of sums alternates */
            }
            expect(equal, "linear_activated", "values");
        }
        sc_ctx_unwind(cx);
    }
}

static void test_nan_stays_where_it_is(void) {
    for (int64_t m = 1; m < 20; m += 6)
        for (int64_t k = 5; k < 60; k += 17) {
            int64_t n = 37, row = below(m), col = below(n);
            sc_tensor *x = MAKE(SC_F32, 0, m, k), *w = MAKE(SC_F32, 0, n, k);
            set(x, row * k + below(k), NAN);
            set(w, col * k + below(k), INFINITY);
            sc_tensor *y[] = {sc_linear(cx, x, w, NULL), sc_linear_packed(cx, x, sc_pack_linear(cx, &w, 1), NULL),
                              sc_matmul(cx, x, sc_contiguous(cx, sc_transpose(cx, w, 0, 1)))};
            for (int v = 0; v < 3; v++)
                for (int64_t i = 0; i < m * n; i++) {
                    double sum = 0;
                    for (int64_t l = 0; l < k; l++) sum += get(x, i / n * k + l) * get(w, i % n * k + l);
                    if (!same(get(y[v], i), sum)) expect(false, "NaN flow", "");
                }
            sc_ctx_unwind(cx);
        }
}

static void test_errors(void) {
    sc_tensor *f = MAKE(SC_F32, 0, 2, 3), *d = MAKE(SC_F64, 0, 3, 4), *v = MAKE(SC_F64, 0, 3), *b = MAKE(SC_BOOL, 0, 2, 3);
    expect_error(sc_matmul(cx, f, d), "RuntimeError", "expected m1 and m2 to have the same dtype, but got: float != double");
    expect_error(sc_matmul(cx, f, v), "RuntimeError", "addmv input tensors must have the same dtype, but got Double, Float, and Double");
    expect_error(sc_matmul(cx, MAKE(SC_F32, 0, 3), v), "RuntimeError", "dot : expected both vectors to have same dtype, but found Float and Double");
    expect_error(sc_matmul(cx, MAKE(SC_F32, 0, 2, 2, 3), MAKE(SC_F64, 0, 2, 3, 4)), "RuntimeError", "expected scalar type Float but found Double");
    expect_error(sc_matmul(cx, b, MAKE(SC_BOOL, 0, 3, 2)), "NotImplementedError", "\"addmm_impl_cpu_\" not implemented for 'Bool'");
    expect_error(sc_matmul(cx, f, MAKE(SC_F32, 0, 4, 5)), "RuntimeError", "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)");
    sc_tensor *w = MAKE(SC_F64, 0, 4, 3);
    expect_error(sc_linear(cx, f, w, NULL), "RuntimeError", "expected m1 and m2 to have the same dtype, but got: float != double");
    expect_error(sc_linear_packed(cx, f, sc_pack_linear(cx, &w, 1), NULL), "RuntimeError",
                 "expected m1 and m2 to have the same dtype, but got: float != double");
    expect_error(sc_linear(cx, b, MAKE(SC_BOOL, 0, 4, 3), NULL), "NotImplementedError", "\"addmm_impl_cpu_\" not implemented for 'Bool'");
    expect_error(sc_linear_packed(cx, MAKE(SC_F64, 0, 2, 5), sc_pack_linear(cx, &w, 1), NULL), "RuntimeError", "mat1 and mat2 shapes cannot be multiplied (2x5 and 3x4)");
    sc_ctx_unwind(cx);
}

/* ---- images ---- */

static void test_conv(void) {
    static const int dtypes[] = {SC_F32, SC_F32, SC_F32, SC_F64, SC_F16, SC_BF16, SC_I64, SC_I32};
    for (int round = 0; round < 240; round++) {
        int dtype = dtypes[below(8)];
        int64_t n = below(3) + (round > 0), groups = 1 + below(3), c = 1 + below(3), f = 1 + below(8), h = 4 + below(9), w = 4 + below(14);
        int64_t kh = 1 + below(3), kw = 1 + below(3), s[2] = {1 + below(3), 1 + below(3)}, p[2] = {below(3), below(3)}, d[2] = {1, 1};
        if (h > 2 * kh + 2 && w > 2 * kw + 2) d[0] = 1 + below(2), d[1] = 1 + below(2);
        if (round % 9 == 0) c = 70, kh = kw = 3, d[0] = d[1] = 1, dtype = SC_F32; /* more rows of columns than one block holds */
        if (round % 7 == 0) kh = kw = s[0] = s[1] = 1, p[0] = p[1] = 0;
        bool batched = round % 5 != 0, last = batched && round % 4 == 1;
        sc_tensor *x = batched ? MAKE(dtype, (int)below(3), n, groups * c, h, w) : MAKE(dtype, (int)below(3), groups * c, h, w);
        if (last) { /* channels last */
            sc_tensor *nhwc = MAKE(dtype, 0, n, h, w, groups * c);
            x = sc_permute(cx, nhwc, (int64_t[]){0, 3, 1, 2}, 4);
        }
        sc_tensor *k = MAKE(dtype, 0, groups * f, c, kh, kw), *b = below(2) ? MAKE(dtype, 0, groups * f) : NULL;
        sc_tensor *y = sc_conv2d(cx, x, k, b, s, p, d, groups);
        int64_t oh = (h + 2 * p[0] - d[0] * (kh - 1) - 1) / s[0] + 1, ow = (w + 2 * p[1] - d[1] * (kw - 1) - 1) / s[1] + 1;
        if (!batched) n = 1;
        expect(y && y->rank == x->rank && y->numel == n * groups * f * oh * ow && y->dtype == dtype, "conv2d", "shape");
        if (last && n > 0 && groups * c > 1 && groups * f > 1 && y) expect(y->stride[1] == 1, "conv2d", "channels last");
        for (int64_t i = 0; y && i < y->numel; i++) {
            int64_t ox = i % ow, oy = i / ow % oh, o = i / ow / oh % (groups * f), image = i / ow / oh / (groups * f);
            double sum = b ? get(b, o) : 0;
            for (int64_t l = 0; l < c * kh * kw; l++) {
                int64_t iy = oy * s[0] - p[0] + l / kw % kh * d[0], ix = ox * s[1] - p[1] + l % kw * d[1];
                int64_t channel = o / f * c + l / kw / kh;
                if (iy >= 0 && iy < h && ix >= 0 && ix < w)
                    sum += get(k, o * c * kh * kw + l) * at(x, ((image * groups * c + channel) * h + iy) * w + ix);
            }
            if (dtype == SC_BF16) sum = sc_bf16_to_f32(sc_f32_to_bf16((float)sum));
            if (!same(at(y, i), sum)) {
                expect(false, "conv2d", "values");
                break;
            }
        }
        sc_ctx_unwind(cx);
    }
    int64_t one[2] = {1, 1}, zero[2] = {0, 0};
    sc_tensor *x = MAKE(SC_F32, 0, 2, 3, 8, 8), *k = MAKE(SC_F32, 0, 4, 2, 3, 3);
    expect_error(sc_conv2d(cx, x, k, NULL, one, zero, one, 1), "RuntimeError",
                 "Given groups=1, weight of size [4, 2, 3, 3], expected input[2, 3, 8, 8] to have 2 channels, but got 3 channels instead");
    k = MAKE(SC_F32, 0, 4, 3, 9, 3);
    expect_error(sc_conv2d(cx, x, k, NULL, one, zero, one, 1), "RuntimeError",
                 "Calculated padded input size per channel: (8 x 8). Kernel size: (9 x 3). Kernel size can't be greater than actual input size");
    expect_error(sc_conv2d(cx, x, k, NULL, zero, zero, one, 1), "RuntimeError", "non-positive stride is not supported");
    sc_ctx_unwind(cx);
}

static int64_t pooled(int64_t in, int64_t k, int64_t s, int64_t p, int64_t d, bool ceil_mode) {
    int64_t out = (in + 2 * p - d * (k - 1) - 1 + (ceil_mode ? s - 1 : 0)) / s + 1;
    return out - (ceil_mode && (out - 1) * s >= in + p);
}
static void test_pool(void) {
    static const int dtypes[] = {SC_F32, SC_F64, SC_F16, SC_I64, SC_I32, SC_U8};
    for (int round = 0; round < 400; round++) {
        bool average = round & 1, ceil_mode = below(2), count = below(2);
        int dtype = dtypes[below(average ? 4 : 6)];
        int64_t h = 5 + below(12), w = 5 + below(30), k[2] = {1 + below(4), 1 + below(4)}, s[2] = {1 + below(4), 1 + below(4)};
        int64_t p[2] = {below(k[0] / 2 + 1), below(k[1] / 2 + 1)}, d[2] = {1, 1}, divisor = average && below(3) == 0 ? 3 : 0;
        if (!average && k[0] < 3 && k[1] < 3) d[0] = 1 + below(2), d[1] = 1 + below(2);
        int64_t oh = pooled(h, k[0], s[0], p[0], d[0], ceil_mode), ow = pooled(w, k[1], s[1], p[1], d[1], ceil_mode);
        sc_tensor *x = MAKE(dtype, (int)below(3), 2, h, w);
        if (dtype >= SC_F16 && below(2)) set(x, offset_of(x, below(x->numel)), NAN);
        if (dtype >= SC_F16 && below(2)) set(x, offset_of(x, below(x->numel)), -INFINITY);
        sc_tensor *y = average ? sc_avg_pool2d(cx, x, k, s, p, ceil_mode, count, divisor) : sc_max_pool2d(cx, x, k, s, p, d, ceil_mode);
        expect_size(y, 3, (int64_t[]){2, oh, ow}, average ? "avg_pool2d" : "max_pool2d", "shape");
        for (int64_t i = 0; y && i < y->numel; i++) {
            int64_t top = i / ow % oh * s[0] - p[0], left = i % ow * s[1] - p[1], cells = 0, padded = 0;
            double best = -INFINITY, sum = 0;
            for (int64_t a = 0; a < k[0]; a++)
                for (int64_t b = 0; b < k[1]; b++) {
                    int64_t iy = top + a * d[0], ix = left + b * d[1];
                    padded += iy < h + p[0] && ix < w + p[1];
                    if (iy < 0 || iy >= h || ix < 0 || ix >= w) continue;
                    double v = at(x, (i / ow / oh * h + iy) * w + ix);
                    cells++, sum += v;
                    if (v > best || isnan(v)) best = v;
                }
            int64_t by = divisor ? divisor : count ? padded : cells;
            double want = !average ? best : !cells ? 0 : dtype == SC_I64 ? (double)((int64_t)sum / by) : sum / (double)by;
            if (average && dtype == SC_F32) want = (float)sum / (float)by;
            if (average && dtype == SC_F16) want = sc_f16_to_f32(sc_f32_to_f16((float)sum / (float)by));
            if (!same(at(y, i), want) && (cells || average)) {
                expect(false, average ? "avg_pool2d" : "max_pool2d", "values");
                break;
            }
        }
        sc_ctx_unwind(cx);
    }
    sc_tensor *x = MAKE(SC_F32, 0, 2, 3, 8, 8);
    int64_t two[2] = {2, 2}, one[2] = {1, 1}, zero[2] = {0, 0}, nine[2] = {9, 9};
    expect_error(sc_max_pool2d(cx, x, two, two, two, one, false), "RuntimeError",
                 "pad should be at most half of effective kernel size, but got pad=2, kernel_size=2 and dilation=1");
    expect_error(sc_max_pool2d(cx, x, nine, nine, zero, one, false), "RuntimeError",
                 "Given input size: (3x8x8). Calculated output size: (3x0x0). Output size is too small");
    expect_error(sc_avg_pool2d(cx, MAKE(SC_I32, 0, 3, 8, 8), two, two, zero, false, true, 0), "NotImplementedError",
                 "\"avg_pool2d\" not implemented for 'Int'");
    sc_ctx_unwind(cx);
}

/* every result owned, nothing else left behind */
static void test_leaks(void) {
    sc_tensor *x = MAKE(SC_F16, 1, 20, 30), *w = MAKE(SC_F16, 0, 40, 30), *b = MAKE(SC_F16, 0, 1);
    sc_tensor *image = MAKE(SC_F16, 0, 1, 3, 9, 9), *kernel = MAKE(SC_F16, 0, 4, 3, 3, 3);
    int64_t one[2] = {1, 1}, zero[2] = {0, 0}, before = sc_ctx_count_live(cx);
    sc_release(cx, sc_linear(cx, x, w, b));
    sc_packed *packed = sc_pack_linear(cx, &w, 1);
    sc_release(cx, sc_linear_packed(cx, x, packed, b));
    sc_release(cx, packed);
    sc_tensor *wt = sc_transpose(cx, w, 0, 1);
    sc_release(cx, sc_matmul(cx, x, wt));
    sc_release(cx, wt);
    sc_release(cx, sc_conv2d(cx, image, kernel, NULL, one, one, one, 1));
    sc_release(cx, sc_max_pool2d(cx, image, (int64_t[]){2, 2}, one, zero, one, false));
    sc_release(cx, sc_linear(cx, x, kernel, NULL));
    expect(sc_ctx_count_live(cx) == before, "leaks", "");
    sc_ctx_unwind(cx);
}

/* ---- memory that ends at any moment ---- */

static void *limited_realloc(void *left, void *block, size_t old, size_t nbytes) {
    (void)old;
    if (nbytes && --*(int *)left < 0) return NULL;
    if (nbytes) return realloc(block, nbytes);
    free(block);
    return NULL;
}
/* Makes a few tensors and one result; false when memory ended. */
static bool run_all(int op) {
    int64_t one[2] = {1, 1}, size[4] = {20, 3, 9, 9}, flat[2] = {20, 30}, kernel[4] = {4, 3, 3, 3};
    sc_tensor *x = sc_empty(cx, SC_F16, 2, flat), *w = x ? sc_empty(cx, SC_F16, 2, flat) : NULL, *wt = NULL;
    sc_tensor *image = w ? sc_empty(cx, SC_F16, 4, size) : NULL, *k = image ? sc_empty(cx, SC_F16, 4, kernel) : NULL;
    if (!k || !(wt = sc_transpose(cx, w, 0, 1))) return false;
    for (int64_t i = 0; i < image->numel; i++) set(image, i, 1);
    for (int64_t i = 0; i < 600; i++) set(x, i, 1), set(w, i, 1), set(k, i % k->numel, 1);
    sc_packed *packed = op == 1 ? sc_pack_linear(cx, &w, 1) : NULL;
    sc_tensor *y = op == 0   ? sc_linear(cx, x, w, NULL)
                   : op == 1 ? packed ? sc_linear_packed(cx, x, packed, NULL) : NULL
                   : op == 2 ? sc_matmul(cx, x, wt)
                   : op == 3 ? sc_conv2d(cx, image, k, NULL, one, one, one, 1)
                   : op == 4 ? sc_max_pool2d(cx, image, one, one, (int64_t[]){0, 0}, one, false)
                             : sc_avg_pool2d(cx, image, one, one, (int64_t[]){0, 0}, false, true, 0);
    return y != NULL;
}
static void test_memory_ends(void) {
    sc_ctx *saved = cx;
    for (int op = 0; op < 6; op++)
        for (int allowed = 0, done = 0; !done; allowed++) {
            int left = allowed;
            cx = sc_ctx_new(&(sc_allocator){limited_realloc, &left});
            if (!cx) continue;
            done = run_all(op);
            if (!done && !cx->error.type[0]) expect(false, "memory ends", "without an error");
            if (allowed > 100) expect(false, "memory ends", "never"), done = 1;
            sc_ctx_free(cx);
        }
    cx = saved;
}

int main(void) {
    cx = sc_ctx_new(NULL);
    test_products();
    test_ahead();
    test_waiting();
    test_outer_sums();
    test_batches();
    test_linear_ranks_and_biases();
    test_activations();
    test_nan_stays_where_it_is();
    test_errors();
    test_conv();
    test_pool();
    test_leaks();
    test_memory_ends();
    sc_ctx_free(cx);
    printf("%d checks, %d failed\n", checks, failures);
    return failures != 0;
}
