/* sc_linalg.c - factorizations of matrices, and what is solved by them, in float and double. Batches of matrices are copied
 * into columns, as LAPACK has them and as eager gives its results, and worked on one by one: a piece of a batch by each
 * thread. Pivots and signs are LAPACK's. */
#include <math.h>

#include "../include/sc_team.h"
#include "../include/sc_vector.h"
#include "sc_gemm.h"

enum { LINALG_LEAF = 16,   /* triangles of at most this many rows are not cut further, ... */
       LINALG_LU_LEAF = 8, /* ... nor are this many columns of an LU */
       LINALG_FEW = 4,     /* fewer right sides are solved one by one */
       LINALG_BLOCK = 32   /* reflections that are applied at a time */ };

static int64_t linalg_half(int64_t n) { /* a multiple of the leaf, less than n > LINALG_LEAF */
    return (n / 2 + LINALG_LEAF - 1) / LINALG_LEAF * LINALG_LEAF;
}

#define T float
#define N(name) linalg_##name##_f32
#define G(name) gemm_##name##_f32
#include "sc_linalg_tile.inc"
#include "sc_linalg_eigen.inc"
#undef T
#undef N
#undef G
#define T double
#define N(name) linalg_##name##_f64
#define G(name) gemm_##name##_f64
#include "sc_linalg_tile.inc"
#include "sc_linalg_eigen.inc"
#undef T
#undef N
#undef G

/* ---- batches ---- */

typedef struct linalg_job linalg_job;
/* A function that works on the matrices first..last - 1 of a batch, with scratch memory of the job's size. */
typedef void linalg_work(const linalg_job *job, int64_t first, int64_t last, void *scratch);
struct linalg_job {
    linalg_work *work;
    sc_tensor *a, *b, *vector, *info; /* vector: pivots or taus */
    int64_t m, n, k;
    bool upper, flag;
    int64_t scratch_size; /* elements */
    char *scratch;
};

static void linalg_part(void *arg, int64_t begin, int64_t end, int worker) {
    const linalg_job *job = arg;
    size_t bytes = (size_t)job->scratch_size * sc_dtype_size(job->a->dtype);
    job->work(job, begin, end, job->scratch + (size_t)worker * bytes);
}

/* Run a job on `count` matrices. flops: of one matrix. Return -1 if memory ends. */
static int linalg_run(sc_ctx *cx, linalg_job *job, int64_t count, double flops) {
    int64_t size = job->scratch_size * (count > 1 ? sc_workers(cx) : 1);
    sc_tensor *scratch = size ? sc_empty(cx, job->a->dtype, 1, &size) : NULL;
    if (size && !scratch) return -1;
    job->scratch = scratch ? scratch->data : NULL;
    if (count == 1) linalg_part(job, 0, 1, 0);
    else sc_parallel(cx, count, 1, flops * (double)count / 8, linalg_part, job); /* about 8 a nanosecond */
    sc_release(cx, scratch);
    return 0;
}

static sc_tensor *linalg_new(sc_ctx *cx, int dtype, int batch, const int64_t *size, int64_t rows, int64_t columns) {
    int64_t full[SC_MAX_RANK], stride[SC_MAX_RANK], step = rows * columns;
    for (int d = 0; d < batch; d++) full[d] = size[d];
    full[batch] = rows, full[batch + 1] = columns;
    stride[batch] = 1, stride[batch + 1] = rows > 1 ? rows : 1;
    if (step < 1) step = 1;
    for (int d = batch; d-- > 0;) {
        stride[d] = step;
        step = sc_wrapped_product(step, size[d] > 1 ? size[d] : 1);
    }
    return sc_empty_strided(cx, dtype, batch + 2, full, stride);
}

static sc_tensor *linalg_columns(sc_ctx *cx, const sc_tensor *x, int batch, const int64_t *size) {
    int64_t rows = x->size[x->rank - 2], columns = x->size[x->rank - 1];
    sc_tensor *out = linalg_new(cx, x->dtype, batch, size, rows, columns);
    if (!out || sc_copy_into(cx, out, x) == 0) return out;
    sc_release(cx, out);
    return NULL;
}

/* Return x for reading only: x itself, retained, if it has the form, else a copy. */
static sc_tensor *linalg_read(sc_ctx *cx, sc_tensor *x, int batch, const int64_t *size) {
    bool fits = x->rank == batch + 2 && sc_same_sizes(x->size, size, batch);
    int64_t rows = x->size[x->rank - 2], step = rows * x->size[x->rank - 1];
    fits = fits && x->stride[batch] == 1 && x->stride[batch + 1] == rows;
    for (int d = batch; d-- > 0 && fits; step = sc_wrapped_product(step, size[d])) fits = size[d] == 1 || x->stride[d] == step;
    if (!fits) return linalg_columns(cx, x, batch, size);
    sc_retain(x);
    return x;
}

/* Return a result, or release it and return NULL if the work failed. */
static sc_tensor *linalg_result(sc_ctx *cx, sc_tensor *made, int status) {
    if (status == 0) return made;
    sc_release(cx, made);
    return NULL;
}

static int64_t linalg_count(int batch, const int64_t *size) {
    int64_t count = 1;
    for (int d = 0; d < batch; d++) count = sc_wrapped_product(count, size[d]);
    return count;
}

static int linalg_square(sc_ctx *cx, const char *function, const sc_tensor *x) {
    int64_t rows = x->size[x->rank - 2], columns = x->size[x->rank - 1];
    if (rows == columns) return 0;
    return sc_raise(cx, "RuntimeError", "%s: A must be batches of square matrices, but they are %lld by %lld matrices", function,
                    (long long)rows, (long long)columns);
}

static int linalg_fits(sc_ctx *cx, const char *function, const sc_tensor *a, const sc_tensor *b) {
    const int64_t *sa = a->size + a->rank - 2, *sb = b->size + b->rank - 2;
    if (sa[0] == sb[0]) return 0;
    return sc_raise(cx, "RuntimeError", "%s: Incompatible shapes of A and B for the equation AX = B (%lldx%lld and %lldx%lld)",
                    function, (long long)sa[0], (long long)sa[1], (long long)sb[0], (long long)sb[1]);
}

static void *linalg_at(const sc_tensor *t, int64_t i, int64_t elements) {
    return (char *)t->data + (size_t)(i * elements) * sc_dtype_size(t->dtype);
}

static double linalg_cube(int64_t a, int64_t b, int64_t c) {
    return (double)a * (double)b * (double)c;
}

/* ---- LU ---- */

static void lu_work(const linalg_job *job, int64_t first, int64_t last, void *scratch) {
    int64_t m = job->m, n = job->n;
    for (int64_t i = first; i < last; i++) {
        void *a = linalg_at(job->a, i, m * n);
        int32_t *pivots = linalg_at(job->vector, i, job->k), *info = linalg_at(job->info, i, 1);
        *info = (int32_t)(job->a->dtype == SC_F32 ? linalg_lu_f32(m, n, a, m, pivots, scratch) : linalg_lu_f64(m, n, a, m, pivots, scratch));
        for (int64_t j = 0; j < job->k; j++) pivots[j]++;
    }
}

SC_KERNEL int sc_linalg_lu(sc_ctx *cx, const sc_tensor *x, sc_tensor **lu, sc_tensor **pivots, sc_tensor **info) {
    int batch = x->rank - 2;
    linalg_job job = {.work = lu_work, .m = x->size[batch], .n = x->size[batch + 1]};
    int64_t size[SC_MAX_RANK], longest = job.m > job.n ? job.m : job.n, count = linalg_count(batch, x->size);
    job.k = job.m < job.n ? job.m : job.n;
    memcpy(size, x->size, sizeof size);
    size[batch] = job.k;
    bool is_float = x->dtype == SC_F32;
    job.scratch_size = is_float ? linalg_scratch_for_f32(longest) : linalg_scratch_for_f64(longest);
    job.a = linalg_columns(cx, x, batch, size);
    job.vector = job.a ? sc_empty(cx, SC_I32, batch + 1, size) : NULL;
    job.info = job.vector ? sc_empty(cx, SC_I32, batch, size) : NULL;
    int status = job.info ? linalg_run(cx, &job, count, linalg_cube(job.m, job.n, job.k)) : -1;
    *lu = linalg_result(cx, job.a, status), *pivots = linalg_result(cx, job.vector, status);
    *info = linalg_result(cx, job.info, status);
    return status;
}

static void lu_solve_work(const linalg_job *job, int64_t first, int64_t last, void *scratch) {
    int64_t n = job->n, k = job->k;
    int32_t *rows = scratch; /* the pivots, from 0; scratch of products follows */
    void *rest = (char *)scratch + (size_t)n * sc_dtype_size(job->a->dtype);
    for (int64_t i = first; i < last; i++) {
        const int32_t *pivots = linalg_at(job->vector, i, n);
        void *a = linalg_at(job->a, i, n * n), *b = linalg_at(job->b, i, n * k);
        for (int64_t j = 0; j < n; j++) rows[j] = pivots[j] > 0 && pivots[j] <= n ? pivots[j] - 1 : (int32_t)j;
        if (job->a->dtype == SC_F32) {
            if (!job->flag) linalg_swap_rows_f32(k, b, n, 0, n, rows, false);
            linalg_solve_f32(false, !job->flag, n, k, a, n, b, n, rest);
            linalg_solve_f32(true, job->flag, n, k, a, n, b, n, rest);
            if (job->flag) linalg_swap_rows_f32(k, b, n, 0, n, rows, true);
        } else {
            if (!job->flag) linalg_swap_rows_f64(k, b, n, 0, n, rows, false);
            linalg_solve_f64(false, !job->flag, n, k, a, n, b, n, rest);
            linalg_solve_f64(true, job->flag, n, k, a, n, b, n, rest);
            if (job->flag) linalg_swap_rows_f64(k, b, n, 0, n, rows, true);
        }
    }
}

/* Write the batch dims to which both broadcast to *size. Return their number, or -1 after raising. */
static int linalg_batches(sc_ctx *cx, const sc_tensor *a, const sc_tensor *b, int64_t *size) {
    int batch = b->rank - 2;
    memcpy(size, b->size, sizeof(int64_t) * (size_t)batch);
    return sc_broadcast(cx, size, &batch, a->size, a->rank - 2) < 0 ? -1 : batch;
}

SC_KERNEL sc_tensor *sc_linalg_lu_solve(sc_ctx *cx, const sc_tensor *lu, const sc_tensor *pivots, const sc_tensor *b, bool adjoint) {
    if (linalg_square(cx, "torch.linalg.lu_solve", lu) < 0 || linalg_fits(cx, "linalg.lu_solve", lu, b) < 0) return NULL;
    if (pivots->rank != lu->rank - 1 || !sc_same_sizes(pivots->size, lu->size, pivots->rank)) {
        sc_raise(cx, "RuntimeError",
                 "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape %s instead",
                 sc_shape_text(pivots).s);
        return NULL;
    }
    int64_t size[SC_MAX_RANK], n = lu->size[lu->rank - 1];
    int batch = linalg_batches(cx, lu, b, size);
    if (batch < 0) return NULL;
    size[batch] = n;
    bool is_float = lu->dtype == SC_F32;
    linalg_job job = {.work = lu_solve_work, .n = n, .k = b->size[b->rank - 1], .flag = adjoint};
    int64_t longest = n > job.k ? n : job.k;
    job.scratch_size = n + (is_float ? linalg_scratch_for_f32(longest) : linalg_scratch_for_f64(longest));
    /* the transpose of LU is also a lower and an upper triangle */
    sc_tensor turned;
    sc_transpose_here(&turned, lu, lu->rank - 2, lu->rank - 1);
    job.a = adjoint ? linalg_columns(cx, &turned, batch, size) : linalg_read(cx, (sc_tensor *)lu, batch, size);
    if (job.a) job.vector = sc_fit(cx, (sc_tensor *)pivots, size, batch + 1);
    if (job.vector) job.b = linalg_columns(cx, b, batch, size);
    int status = job.b ? linalg_run(cx, &job, linalg_count(batch, size), 2 * linalg_cube(n, n, job.k)) : -1;
    sc_release(cx, job.a);
    sc_release(cx, job.vector);
    return linalg_result(cx, job.b, status);
}

/* ---- triangles ---- */

static void triangle_work(const linalg_job *job, int64_t first, int64_t last, void *scratch) {
    int64_t n = job->n, k = job->k;
    for (int64_t i = first; i < last; i++) {
        void *a = linalg_at(job->a, i, n * n), *b = linalg_at(job->b, i, n * k);
        if (job->a->dtype == SC_F32) linalg_solve_f32(job->upper, job->flag, n, k, a, n, b, n, scratch);
        else linalg_solve_f64(job->upper, job->flag, n, k, a, n, b, n, scratch);
    }
}

SC_KERNEL sc_tensor *sc_linalg_triangle(sc_ctx *cx, const sc_tensor *a, const sc_tensor *b, bool upper, bool unit) {
    if (linalg_square(cx, "linalg.solve_triangular", a) < 0 || linalg_fits(cx, "linalg.solve_triangular", a, b) < 0) return NULL;
    int64_t size[SC_MAX_RANK], n = a->size[a->rank - 1];
    int batch = linalg_batches(cx, a, b, size);
    if (batch < 0) return NULL;
    linalg_job job = {.work = triangle_work, .n = n, .k = b->size[b->rank - 1], .upper = upper, .flag = unit};
    int64_t longest = n > job.k ? n : job.k;
    job.scratch_size = a->dtype == SC_F32 ? linalg_scratch_for_f32(longest) : linalg_scratch_for_f64(longest);
    job.a = linalg_read(cx, (sc_tensor *)a, batch, size);
    if (job.a) job.b = linalg_columns(cx, b, batch, size);
    int status = job.b ? linalg_run(cx, &job, linalg_count(batch, size), linalg_cube(n, n, job.k)) : -1;
    sc_release(cx, job.a);
    return linalg_result(cx, job.b, status);
}

/* ---- Cholesky ---- */

static void cholesky_work(const linalg_job *job, int64_t first, int64_t last, void *scratch) {
    int64_t n = job->n;
    for (int64_t i = first; i < last; i++) {
        char *a = linalg_at(job->a, i, n * n);
        int32_t *info = linalg_at(job->info, i, 1);
        size_t item = sc_dtype_size(job->a->dtype);
        *info = (int32_t)(item == 4 ? linalg_cholesky_f32(n, (float *)a, n, scratch) : linalg_cholesky_f64(n, (double *)a, n, scratch));
        for (int64_t j = 1; j < n; j++) memset(a + (size_t)(j * n) * item, 0, (size_t)j * item);
    }
}

SC_KERNEL int sc_linalg_cholesky(sc_ctx *cx, const sc_tensor *x, sc_tensor **l, sc_tensor **info) {
    *l = *info = NULL;
    if (linalg_square(cx, "linalg.cholesky", x) < 0) return -1;
    int batch = x->rank - 2;
    linalg_job job = {.work = cholesky_work, .n = x->size[batch]};
    job.scratch_size = x->dtype == SC_F32 ? linalg_scratch_for_f32(job.n) : linalg_scratch_for_f64(job.n);
    job.a = linalg_columns(cx, x, batch, x->size);
    job.info = job.a ? sc_empty(cx, SC_I32, batch, x->size) : NULL;
    int status = job.info ? linalg_run(cx, &job, linalg_count(batch, x->size), linalg_cube(job.n, job.n, job.n) / 3) : -1;
    *l = linalg_result(cx, job.a, status), *info = linalg_result(cx, job.info, status);
    return status;
}

/* ---- QR ---- */

static void qr_work(const linalg_job *job, int64_t first, int64_t last, void *scratch) {
    int64_t m = job->m, n = job->n;
    for (int64_t i = first; i < last; i++) {
        void *a = linalg_at(job->a, i, m * n), *tau = linalg_at(job->vector, i, job->k);
        if (job->a->dtype == SC_F32) linalg_qr_f32(m, n, a, m, tau, scratch);
        else linalg_qr_f64(m, n, a, m, tau, scratch);
    }
}

SC_KERNEL int sc_linalg_geqrf(sc_ctx *cx, const sc_tensor *x, sc_tensor **a, sc_tensor **tau) {
    int batch = x->rank - 2;
    linalg_job job = {.work = qr_work, .m = x->size[batch], .n = x->size[batch + 1]};
    int64_t size[SC_MAX_RANK];
    memcpy(size, x->size, sizeof size);
    size[batch] = job.k = job.m < job.n ? job.m : job.n;
    job.scratch_size = x->dtype == SC_F32 ? linalg_block_scratch_f32(job.m, job.n) : linalg_block_scratch_f64(job.m, job.n);
    job.a = linalg_columns(cx, x, batch, size);
    job.vector = job.a ? sc_empty(cx, x->dtype, batch + 1, size) : NULL;
    int status = job.vector ? linalg_run(cx, &job, linalg_count(batch, size), 2 * linalg_cube(job.m, job.n, job.k)) : -1;
    *a = linalg_result(cx, job.a, status), *tau = linalg_result(cx, job.vector, status);
    return status;
}

static void q_work(const linalg_job *job, int64_t first, int64_t last, void *scratch) {
    int64_t m = job->m, n = job->n, k = job->k;
    for (int64_t i = first; i < last; i++) {
        const void *v = linalg_at(job->b, i, m * n), *tau = linalg_at(job->vector, i, k);
        void *q = linalg_at(job->a, i, m * n);
        if (job->a->dtype == SC_F32) linalg_q_of_f32(m, n, k, v, m, tau, q, m, scratch);
        else linalg_q_of_f64(m, n, k, v, m, tau, q, m, scratch);
    }
}

SC_KERNEL sc_tensor *sc_linalg_q(sc_ctx *cx, const sc_tensor *v, const sc_tensor *tau) {
    int batch = v->rank - 2;
    linalg_job job = {.work = q_work, .m = v->size[batch], .n = v->size[batch + 1], .k = tau->size[tau->rank - 1]};
    const char *wrong = job.m < job.n ? "input.shape[-2] must be greater than or equal to input.shape[-1]"
                        : job.n < job.k ? "input.shape[-1] must be greater than or equal to tau.shape[-1]" : NULL;
    if (wrong) {
        sc_raise(cx, "RuntimeError", "torch.linalg.householder_product: %s", wrong);
        return NULL;
    }
    if (!sc_same_sizes(v->size, tau->size, batch)) {
        sc_raise(cx, "RuntimeError", "torch.linalg.householder_product: Expected batch dimensions of tau to be equal to "
                 "input.shape[:-2], but got %s", sc_sizes_text(tau->size, batch).s);
        return NULL;
    }
    job.scratch_size = v->dtype == SC_F32 ? linalg_block_scratch_f32(job.m, job.n) : linalg_block_scratch_f64(job.m, job.n);
    job.b = linalg_read(cx, (sc_tensor *)v, batch, v->size);
    job.vector = job.b ? sc_contiguous(cx, (sc_tensor *)tau) : NULL;
    job.a = job.vector ? linalg_new(cx, v->dtype, batch, v->size, job.m, job.n) : NULL;
    int status = job.a ? linalg_run(cx, &job, linalg_count(batch, v->size), 2 * linalg_cube(job.m, job.n, job.k)) : -1;
    sc_release(cx, job.b);
    sc_release(cx, job.vector);
    return linalg_result(cx, job.a, status);
}

/* ---- eigenvalues and singular values: one matrix after the other ---- */

SC_KERNEL int sc_linalg_eigh(sc_ctx *cx, const sc_tensor *x, bool vectors, sc_tensor **values, sc_tensor **v, sc_tensor **info) {
    *values = *v = *info = NULL;
    if (linalg_square(cx, "linalg.eigh", x) < 0) return -1;
    int batch = x->rank - 2, status = -1;
    int64_t n = x->size[batch], count = linalg_count(batch, x->size), kept = vectors ? n : 0;
    bool is_float = x->dtype == SC_F32;
    int64_t room = is_float ? linalg_eigen_scratch_f32(n) : linalg_eigen_scratch_f64(n);
    sc_tensor *a = linalg_columns(cx, x, batch, x->size), *scratch = a ? sc_empty(cx, x->dtype, 1, &room) : NULL;
    sc_tensor *w = scratch ? sc_empty(cx, x->dtype, batch + 1, x->size) : NULL;
    sc_tensor *z = w ? linalg_new(cx, x->dtype, batch, x->size, kept, kept) : NULL;
    sc_tensor *codes = z ? sc_empty(cx, SC_I32, batch, x->size) : NULL;
    if (codes) status = 0;
    for (int64_t i = 0; codes && i < count; i++) {
        void *from = linalg_at(a, i, n * n), *to = linalg_at(w, i, n), *turned = vectors ? linalg_at(z, i, n * n) : NULL;
        int32_t *code = linalg_at(codes, i, 1);
        *code = (int32_t)(is_float ? linalg_eigen_f32(n, from, to, turned, scratch->data)
                                   : linalg_eigen_f64(n, from, to, turned, scratch->data));
    }
    sc_release(cx, a);
    sc_release(cx, scratch);
    *values = linalg_result(cx, w, status), *v = linalg_result(cx, z, status), *info = linalg_result(cx, codes, status);
    return status;
}

/* Copy into[j, i] = from[i, j], both stored by columns. */
static void linalg_turn(int64_t rows, int64_t columns, size_t item, const void *from, void *into) {
    sc_move_transposed(item, into, columns, from, rows, rows, columns);
}

SC_KERNEL int sc_linalg_svd(sc_ctx *cx, const sc_tensor *x, bool vectors, bool full, sc_tensor **u, sc_tensor **values,
                            sc_tensor **vh, sc_tensor **info) {
    int batch = x->rank - 2, status = -1;
    /* if so, the transpose is used */
    bool is_float = x->dtype == SC_F32, is_wide = x->size[batch] < x->size[batch + 1];
    sc_tensor tall = *x;
    if (is_wide) sc_transpose_here(&tall, x, batch, batch + 1);
    int64_t m = tall.size[batch], n = tall.size[batch + 1], wanted = full ? m : n, count = linalg_count(batch, x->size);
    int64_t rows = vectors ? x->size[batch] : 0, columns = vectors ? x->size[batch + 1] : 0, of_u = is_wide ? n : wanted;
    int64_t size[SC_MAX_RANK], room = is_float ? linalg_singular_scratch_f32(m, n) : linalg_singular_scratch_f64(m, n);
    int64_t own = room + (vectors ? m * wanted + n * n : 0);
    memcpy(size, x->size, sizeof size);
    size[batch] = n;
    sc_tensor *a = linalg_columns(cx, &tall, batch, size), *scratch = a ? sc_empty(cx, x->dtype, 1, &own) : NULL;
    sc_tensor *s = scratch ? sc_empty(cx, x->dtype, batch + 1, size) : NULL;
    sc_tensor *left = s ? linalg_new(cx, x->dtype, batch, size, rows, vectors ? of_u : 0) : NULL;
    sc_tensor *right = left ? linalg_new(cx, x->dtype, batch, size, vectors ? (is_wide ? wanted : n) : 0, columns) : NULL;
    sc_tensor *codes = right ? sc_empty(cx, SC_I32, batch, size) : NULL;
    size_t item = sc_dtype_size(x->dtype);
    if (codes) status = 0;
    for (int64_t i = 0; codes && i < count; i++) {
        char *big = (char *)scratch->data + (size_t)room * item, *small = big + (size_t)(m * wanted) * item;
        void *from = linalg_at(a, i, m * n), *to = linalg_at(s, i, n), *to_u = vectors ? big : NULL;
        int32_t *code = linalg_at(codes, i, 1);
        *code = (int32_t)(is_float ? linalg_singular_f32(m, n, wanted, from, to, to_u, (float *)small, scratch->data)
                                   : linalg_singular_f64(m, n, wanted, from, to, to_u, (double *)small, scratch->data));
        if (!vectors) continue;
        void *at_u = linalg_at(left, i, rows * of_u), *at_v = linalg_at(right, i, (is_wide ? wanted : n) * columns);
        memcpy(at_u, is_wide ? small : big, (size_t)(rows * of_u) * item);
        if (is_wide) linalg_turn(m, wanted, item, big, at_v);
        else linalg_turn(n, n, item, small, at_v);
    }
    sc_release(cx, a);
    sc_release(cx, scratch);
    *u = linalg_result(cx, left, status), *values = linalg_result(cx, s, status);
    *vh = linalg_result(cx, right, status), *info = linalg_result(cx, codes, status);
    return status;
}
