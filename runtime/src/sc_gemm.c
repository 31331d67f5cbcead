/* sc_gemm.c - matmul and linear. float and double have kernels (sc_gemm_tile.inc); halves go through float and round
 * once at the end; integers go through wrapping 64-bit sums. */
#include "sc_gemm.h"
#include "../include/sc_profile.h"

/* Named here, because which files need sc_team.c is read off the .c files, not off templates. */
static void gemm_share(sc_ctx *cx, int64_t pieces, int64_t m, int64_t n, int64_t k, size_t item, sc_work *work, void *arg) {
    if (pieces > 1 && sc_workers(cx) > 1) sc_parallel(cx, pieces, 1, gemm_ns(m, n, k, item), work, arg);
    else work(arg, 0, pieces, 0);
}

#include "sc_gemm_half.inc"

#define T float
#define I int32_t
#define N(name) gemm_##name##_f32
#include "sc_gemm_tile.inc"
#undef T
#undef I
#undef N
#define T double
#define I int64_t
#define N(name) gemm_##name##_f64
#include "sc_gemm_tile.inc"
#undef T
#undef I
#undef N

/* A matrix in a tensor's storage: data, strides in elements. */
typedef struct gemm_operand {
    const void *data;
    int64_t row, col;
} gemm_operand;

/* Report the work of a product to the profile. */
static void gemm_note(const sc_ctx *cx, int dtype, int64_t m, int64_t n, int64_t k) {
    double items = (double)m * (double)k + (double)k * (double)n + (double)m * (double)n;
    sc_profile_work(cx, 2.0 * (double)m * (double)n * (double)k, items * (double)sc_dtype_size(dtype));
}

/* Return the dtype in which products of `dtype` are computed. */
static int gemm_dtype(int dtype) {
    return dtype == SC_F64 || dtype == SC_F32 ? dtype : dtype == SC_F16 || dtype == SC_BF16 ? SC_F32 : SC_I64;
}

static void gemm_product_i64(int64_t m, int64_t n, int64_t k, gemm_operand a, gemm_operand b, const int64_t *init, int64_t ldi,
                             int64_t *c) {
    for (int64_t i = 0; i < m; i++, c += n) {
        for (int64_t j = 0; j < n; j++) c[j] = init ? init[i * ldi + j] : 0;
        for (int64_t l = 0; l < k; l++) {
            uint64_t s = (uint64_t)((const int64_t *)a.data)[i * a.row + l * a.col];
            for (int64_t j = 0; j < n; j++)
                c[j] = (int64_t)((uint64_t)c[j] + s * (uint64_t)((const int64_t *)b.data)[l * b.row + j * b.col]);
        }
    }
}

/* Compute c = init + a b for contiguous c [m, n]. dtype is one of gemm_dtype's. */
static int gemm_product(sc_ctx *cx, int dtype, int64_t m, int64_t n, int64_t k, gemm_operand a, gemm_operand b, const void *init,
                        int64_t ldi, void *c) {
    if (m == 0 || n == 0) return 0;
    gemm_note(cx, dtype, m, n, k);
    if (dtype == SC_F32) return gemm_product_f32(cx, m, n, k, a.data, a.row, a.col, b.data, b.row, b.col, init, ldi, c, n);
    if (dtype == SC_F64) return gemm_product_f64(cx, m, n, k, a.data, a.row, a.col, b.data, b.row, b.col, init, ldi, c, n);
    gemm_product_i64(m, n, k, a, b, init, ldi, c);
    return 0;
}

/* Fuse all dimensions but the last. Return true, the number of rows and the step between rows, if one step serves for
 * all. */
static bool gemm_flatten(const sc_tensor *x, int64_t *rows, int64_t *step) {
    *rows = 1, *step = 0;
    bool even = true;
    for (int d = x->rank - 2; d >= 0; d--) {
        if (x->size[d] == 1) continue;
        if (*rows == 1) *step = x->stride[d];
        else even = even && x->stride[d] == sc_wrapped_product(*step, *rows);
        *rows = sc_wrapped_product(*rows, x->size[d]);
    }
    return even;
}

/* Raise for products of bools, which eager lacks, except for empty ones. */
static int gemm_no_bool(sc_ctx *cx, const char *kernel, const sc_tensor *a, int64_t b_numel) {
    if (a->dtype != SC_BOOL || a->numel == 0 || b_numel == 0) return 0;
    return sc_raise(cx, "NotImplementedError", "\"%s\" not implemented for 'Bool'", kernel);
}

/* ---- matmul ---- */

/* Compute batches of products, whose sizes broadcast over the `rank` leading dimensions of the result. */
static int gemm_batches(sc_ctx *cx, const sc_tensor *a, const sc_tensor *b, int rank, const int64_t *size, int64_t m, int64_t n,
                        int64_t k, gemm_operand pa, gemm_operand pb, sc_tensor *out) {
    size_t item = sc_dtype_size(out->dtype);
    int64_t count = 1, at[SC_MAX_RANK] = {0}, step_a[SC_MAX_RANK] = {0}, step_b[SC_MAX_RANK] = {0};
    for (int d = 0; d < rank; d++) {
        int da = d + a->rank - 2 - rank, db = d + b->rank - 2 - rank;
        step_a[d] = da >= 0 && a->size[da] > 1 ? a->stride[da] * (int64_t)item : 0;
        step_b[d] = db >= 0 && b->size[db] > 1 ? b->stride[db] * (int64_t)item : 0;
        count = sc_wrapped_product(count, size[d]);
    }
    char *c = out->data;
    for (int64_t i = 0; i < count; i++, c += (size_t)(m * n) * item) {
        if (gemm_product(cx, out->dtype, m, n, k, pa, pb, NULL, 0, c) < 0) return -1;
        for (int d = rank - 1; d >= 0; d--) { /* odometer */
            pa.data = (const char *)pa.data + step_a[d], pb.data = (const char *)pb.data + step_b[d];
            if (++at[d] < size[d]) break;
            pa.data = (const char *)pa.data - step_a[d] * at[d], pb.data = (const char *)pb.data - step_b[d] * at[d];
            at[d] = 0;
        }
    }
    return 0;
}

/* Multiply checked operands of one of gemm_dtype's dtypes. */
static sc_tensor *gemm_matmul(sc_ctx *cx, sc_tensor *a, const sc_tensor *b) {
    bool vector_a = a->rank == 1, vector_b = b->rank == 1;
    int batch_a = vector_a ? 0 : a->rank - 2, batch_b = vector_b ? 0 : b->rank - 2, rank = batch_a > batch_b ? batch_a : batch_b;
    int64_t k = a->size[a->rank - 1], m = vector_a ? 1 : a->size[a->rank - 2], n = vector_b ? 1 : b->size[b->rank - 1];
    int64_t size[SC_MAX_RANK];
    for (int d = 0; d < rank; d++) {
        int da = d + batch_a - rank, db = d + batch_b - rank;
        size[d] = da >= 0 && a->size[da] != 1 ? a->size[da] : db >= 0 ? b->size[db] : 1;
    }
    int full = rank;
    if (!vector_a) size[full++] = m;
    if (!vector_b) size[full++] = n;
    sc_tensor *out = sc_empty(cx, a->dtype, full, size), *whole = NULL;
    if (!out) return NULL;
    gemm_operand pb = {b->data, b->stride[vector_b ? 0 : b->rank - 2], vector_b ? 1 : b->stride[b->rank - 1]};
    int status;
    if (batch_b == 0) { /* one product with all rows of a */
        int64_t rows, step;
        if (!gemm_flatten(a, &rows, &step)) {
            if (!(whole = sc_contiguous(cx, a))) goto fail;
            a = whole;
            gemm_flatten(a, &rows, &step);
        }
        status = gemm_product(cx, a->dtype, rows, n, k, (gemm_operand){a->data, step, a->stride[a->rank - 1]}, pb, NULL, 0, out->data);
    } else {
        gemm_operand pa = {a->data, vector_a ? 0 : a->stride[a->rank - 2], a->stride[a->rank - 1]};
        status = out->numel == 0 ? 0 : gemm_batches(cx, a, b, rank, size, m, n, k, pa, pb, out);
    }
    sc_release(cx, whole);
    if (status == 0) return out;
fail:
    sc_release(cx, out);
    return NULL;
}

SC_KERNEL sc_tensor *sc_matmul(sc_ctx *cx, const sc_tensor *a, const sc_tensor *b) {
    bool dot = a->rank == 1 && b->rank == 1, mv = a->rank > 1 && b->rank == 1, mm = b->rank == 2;
    const char *kernel = dot ? "dot" : mv ? "addmv_impl_cpu" : mm ? "addmm_impl_cpu_" : "bmm";
    if (sc_check_matmul(cx, a, b) < 0 || gemm_no_bool(cx, kernel, a, b->numel) < 0) return NULL;
    int dtype = gemm_dtype(a->dtype);
    if (dtype == a->dtype) return gemm_matmul(cx, (sc_tensor *)a, b);
    sc_tensor *wide_a = sc_to_dtype(cx, (sc_tensor *)a, dtype), *wide_b = wide_a ? sc_to_dtype(cx, (sc_tensor *)b, dtype) : NULL;
    sc_tensor *wide = wide_b ? gemm_matmul(cx, wide_a, wide_b) : NULL, *out = wide ? sc_to_dtype(cx, wide, a->dtype) : NULL;
    sc_release(cx, wide_a);
    sc_release(cx, wide_b);
    sc_release(cx, wide);
    return out;
}

/* ---- linear ---- */

/* Compute out [..., n] = activation(bias + x w^T). The weight is in panels (back: read from the last) or the operand w, [k, n].
 * All are of one of gemm_dtype's dtypes. activation: NULL, or of floats, by panels or where gemm_transposes_f32. */
static sc_tensor *gemm_linear(sc_ctx *cx, sc_tensor *x, gemm_operand w, gemm_form form, bool back, int64_t n, sc_tensor *bias,
                              sc_activation *activation) {
    int64_t size[SC_MAX_RANK], rows, step, k = x->size[x->rank - 1], ldi = 0;
    int rank = x->rank;
    memcpy(size, x->size, sizeof size);
    size[rank - 1] = n;
    sc_tensor *out = sc_empty(cx, x->dtype, rank, size), *whole = NULL, *wide = NULL, *full = NULL;
    if (!out) return NULL;
    int status = -1;
    bool packed = form != GEMM_PLAIN;
    if (!gemm_flatten(x, &rows, &step) || ((packed || activation) && x->stride[rank - 1] != 1 && k > 1)) {
        if (!(whole = sc_contiguous(cx, x))) goto done;
        x = whole;
        gemm_flatten(x, &rows, &step);
    }
    if (bias && !(bias->rank == 1 && bias->size[0] == n && bias->stride[0] == 1)) { /* rare: broadcast it to the result */
        if (!(wide = sc_expand(cx, bias, out->size, out->rank)) || !(full = sc_contiguous(cx, wide))) goto done;
        bias = full, ldi = n;
    }
    const void *init = bias ? bias->data : NULL;
    if (packed || activation) gemm_note(cx, x->dtype, rows, n, k);
    if (rows == 0 || n == 0) status = 0;
    else if (packed && x->dtype == SC_F32)
        status = gemm_blocked_f32(cx, rows, n, k, x->data, step, w.data, form, back, 0, 0, init, ldi, out->data, n, activation);
    else if (packed && x->dtype == SC_F64)
        status = gemm_blocked_f64(cx, rows, n, k, x->data, step, w.data, form, back, 0, 0, init, ldi, out->data, n, NULL);
    else if (activation) status = gemm_transposed_f32(cx, rows, n, k, x->data, step, w.data, w.col, init, ldi, out->data, n, activation);
    else status = gemm_product(cx, x->dtype, rows, n, k, (gemm_operand){x->data, step, x->stride[rank - 1]}, w, init, ldi, out->data);
done:
    sc_release(cx, whole);
    sc_release(cx, wide);
    sc_release(cx, full);
    if (status == 0) return out;
    sc_release(cx, out);
    return NULL;
}

/* Compute gemm_linear for any dtype of x and bias. */
static sc_tensor *gemm_linear_cast(sc_ctx *cx, const sc_tensor *x, gemm_operand w, gemm_form form, bool back, int64_t n,
                                   const sc_tensor *bias) {
    int dtype = gemm_dtype(x->dtype);
    if (dtype == x->dtype) return gemm_linear(cx, (sc_tensor *)x, w, form, back, n, (sc_tensor *)bias, NULL);
    sc_tensor *wide_x = sc_to_dtype(cx, (sc_tensor *)x, dtype), *wide_bias = NULL, *wide = NULL, *out = NULL;
    if (wide_x && (!bias || (wide_bias = sc_to_dtype(cx, (sc_tensor *)bias, dtype))))
        wide = gemm_linear(cx, wide_x, w, form, back, n, wide_bias, NULL);
    if (wide) out = sc_to_dtype(cx, wide, x->dtype);
    sc_release(cx, wide_x);
    sc_release(cx, wide_bias);
    sc_release(cx, wide);
    return out;
}

/* Compute linear for w [k]: as one row, without the last dimension in the result. */
static sc_tensor *gemm_linear_vector(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *bias) {
    if (!bias) return sc_matmul(cx, x, w);
    sc_tensor *row = sc_unsqueeze(cx, w, 0), *column = row ? sc_linear(cx, x, row, bias) : NULL;
    sc_tensor *out = column ? sc_squeeze(cx, column, -1) : NULL;
    sc_release(cx, row);
    sc_release(cx, column);
    return out;
}

SC_KERNEL sc_tensor *sc_linear(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *bias) {
    if (sc_check_linear(cx, x, w, bias) < 0) return NULL;
    if (w->rank == 1) return gemm_linear_vector(cx, x, w, bias);
    if (gemm_no_bool(cx, "addmm_impl_cpu_", x, w->numel) < 0) return NULL;
    sc_tensor *wide = sc_to_dtype(cx, (sc_tensor *)w, gemm_dtype(w->dtype));
    if (!wide) return NULL;
    gemm_operand operand = {wide->data, wide->stride[1], wide->stride[0]};
    sc_tensor *out = gemm_linear_cast(cx, x, operand, GEMM_PLAIN, false, w->size[0], bias);
    sc_release(cx, wide);
    return out;
}

SC_KERNEL sc_packed *gemm_packed_from(sc_tensor *panels, int dtype, int64_t n, int64_t k) {
    sc_obj head = panels->obj;
    sc_storage *storage = panels->storage;
    uint8_t panels_dtype = panels->dtype;
    head.kind = SC_PACKED;
    sc_packed *packed = (sc_packed *)(void *)panels;
    *packed = (sc_packed){.obj = head, .storage = storage, .dtype = (uint8_t)dtype, .panels = panels_dtype, .n = n, .k = k};
    return packed;
}

static gemm_form gemm_form_of(const sc_packed *w) {
    return w->panels == SC_F16 ? GEMM_PANELS_F16 : w->panels == SC_BF16 ? GEMM_PANELS_BF16 : GEMM_PANELS;
}

/* Return whether this product reads the panels from the last to the first, as every second product does. If a loop
 * reads a weight larger than a cache in the same order in each step, its end evicts its beginning, and no panel is ever
 * found in cache. In alternating order, as many panels are found as fit. (The order is not part of the weight's value,
 * so it may change here.) */
static bool gemm_turn(const sc_packed *w) {
    if (w->source || (int64_t)w->storage->nbytes < GEMM_TURN) return false;
    ((sc_packed *)(uintptr_t)w)->back = !w->back;
    return w->back;
}

/* Return for how many products of one row packing takes longer than panels save. */
static int64_t gemm_unpacked_rows(const sc_tensor *w) {
    int64_t bytes = w->numel * (int64_t)sc_dtype_size(w->dtype), lanes = SC_VL / (int64_t)sc_dtype_size(w->dtype);
    bool by_rows = w->stride[1] != 1 && w->size[0] >= lanes && bytes > GEMM_TURN; /* as fast as by panels */
    if (bytes > GEMM_MEMORY) return GEMM_UNPACKED_MEMORY;
    return bytes > GEMM_FAR || by_rows ? GEMM_UNPACKED_FAR : GEMM_UNPACKED;
}

/* Leave a weight as it lies, until gemm_is_unpacked packs it, if products can read it so. */
static bool gemm_postpone(sc_packed *packed, sc_tensor *w) {
    if (w->dtype != packed->panels || !sc_is_float(w->dtype) || !(w->stride[0] == 1 || w->stride[1] == 1) || w->numel == 0) return false;
    packed->source = w->storage, packed->from = w->data;
    packed->row_step = w->stride[0], packed->column_step = w->stride[1];
    packed->left = gemm_unpacked_rows(w);
    sc_retain(w->storage);
    return true;
}

/* Note that the panels, which may be kept, are made. */
static void gemm_made(sc_ctx *cx, sc_packed *w) {
    if (!w->kept) return;
    w->kept->waits = false;
    if (cx->on_keep) cx->on_keep(cx, w->storage->nbytes);
}

/* Pack a weight that was left as it lies. */
static void gemm_pack_late(sc_ctx *cx, sc_packed *w) {
    if (w->panels == SC_F32) gemm_pack_f32(w->n, w->k, w->from, w->row_step, w->column_step, w->storage->data);
    else gemm_pack_f64(w->n, w->k, w->from, w->row_step, w->column_step, w->storage->data);
    gemm_made(cx, w);
}

/* Return whether a product of `rows` rows can read a weight as it lies. fused: its sums start with the result, or it applies an
 * activation. A weight whose panels are kept is read so only if that takes about as long. */
static bool gemm_reads_source(const sc_packed *w, int64_t rows, bool fused) {
    bool transposes = w->panels == SC_F32 ? gemm_transposes_f32(rows, w->n) : gemm_transposes_f64(rows, w->n);
    return (w->column_step == 1 && transposes) || (!fused && !w->kept);
}

/* Return whether a product of `rows` rows reads the weight as it lies. If not, it is in panels from then on. */
static bool gemm_is_unpacked(sc_ctx *cx, const sc_packed *w, int64_t rows, bool fused) {
    if (!w->source) return false;
    sc_packed *own = (sc_packed *)(uintptr_t)w; /* the form is not part of the weight's value */
    int64_t *left = own->kept ? &own->kept->left : &own->left;
    const int64_t taken = rows == 1 ? 1 : GEMM_UNPACKED_ROWS;
    if (*left >= taken && gemm_reads_source(w, rows, fused)) {
        *left -= taken;
        return true;
    }
    if (!own->kept || own->kept->waits) gemm_pack_late(cx, own);
    sc_release(cx, w->source);
    own->source = NULL;
    return false;
}

/* Return a weight as the right operand of the product of `rows` rows, and its form. fused: as of gemm_reads_source. */
static gemm_operand gemm_weight(sc_ctx *cx, const sc_packed *w, int64_t rows, bool fused, gemm_form *form) {
    if (gemm_is_unpacked(cx, w, rows, fused)) {
        *form = GEMM_PLAIN;
        return (gemm_operand){w->from, w->column_step, w->row_step};
    }
    *form = gemm_dtype(w->dtype) == SC_I64 ? GEMM_PLAIN : gemm_form_of(w);
    return (gemm_operand){w->storage->data, 1, w->k};
}

static int gemm_pack_into(sc_ctx *cx, sc_tensor *w, int dtype, char *panels) {
    int64_t n = w->size[0], k = w->size[1];
    const bool floating = dtype == SC_F32 || dtype == SC_F64;
    sc_tensor *wide = sc_to_dtype(cx, w, dtype);
    sc_tensor *rows = wide;
    if (wide && floating && (wide->stride[0] == 1 || wide->stride[1] == 1)) sc_retain(rows);
    else if (wide) rows = sc_contiguous(cx, wide);
    if (rows && rows->numel) {
        if (dtype == SC_F32) gemm_pack_f32(n, k, rows->data, rows->stride[0], rows->stride[1], (float *)(void *)panels);
        else if (dtype == SC_F64) gemm_pack_f64(n, k, rows->data, rows->stride[0], rows->stride[1], (double *)(void *)panels);
        else memcpy(panels, rows->data, (size_t)(n * k) * sizeof(int64_t));
    }
    sc_release(cx, wide);
    sc_release(cx, rows);
    return rows ? 0 : -1;
}

SC_KERNEL sc_packed *sc_pack_linear(sc_ctx *cx, sc_tensor *const *w, int count) {
    int dtype = gemm_dtype(w[0]->dtype);
    int64_t n = 0, k = w[0]->size[1], lanes = dtype == SC_F32 ? gemm_LANES_f32 : dtype == SC_F64 ? gemm_LANES_f64 : 1;
    bool whole_panels = true;
    for (int i = 0; i < count; i++) {
        n += w[i]->size[0];
        whole_panels = whole_panels && w[i]->size[0] % (GEMM_NV * lanes) == 0;
    }
    sc_tensor *panels = sc_empty(cx, dtype, 2, (int64_t[]){(n + lanes - 1) / lanes * lanes, k}), *joined = NULL;
    if (!panels) return NULL;
    int from = w[0]->dtype;
    if (count == 1) {
        sc_packed *packed = gemm_packed_from(panels, from, n, k);
        return gemm_postpone(packed, w[0]) || gemm_pack_into(cx, w[0], dtype, packed->storage->data) == 0 ? packed : NULL;
    }
    if (!whole_panels) {
        if (!(joined = sc_concat(cx, w, count))) return NULL;
        w = &joined, count = 1;
    }
    size_t at = 0;
    for (int i = 0; i < count; at += (size_t)w[i++]->numel * sc_dtype_size(dtype))
        if (gemm_pack_into(cx, w[i], dtype, (char *)panels->data + at) < 0) return NULL;
    sc_release(cx, joined);
    return gemm_packed_from(panels, from, n, k);
}

/* Return a weight whose panels are kept, but not made yet, as the call gives it. */
static sc_packed *gemm_waiting(sc_ctx *cx, sc_packed *kept, sc_tensor *w) {
    sc_packed *packed = sc_object(cx, SC_PACKED);
    if (!packed) return NULL;
    const sc_obj head = packed->obj;
    *packed = *kept;
    packed->obj = head, packed->waits = false, packed->kept = kept;
    sc_retain(packed->storage);
    if (gemm_postpone(packed, w)) return packed;
    if (gemm_pack_into(cx, w, packed->panels, packed->storage->data) < 0) return NULL;
    gemm_made(cx, packed);
    return packed;
}

/* Return panels of fewer bits in place of some. */
static sc_packed *gemm_narrow(sc_ctx *cx, sc_packed *packed, int store) {
    sc_tensor *narrow = sc_empty(cx, store, 1, (int64_t[]){(int64_t)(packed->storage->nbytes / sc_dtype_size(packed->panels))});
    if (!narrow) return NULL;
    sc_convert_row(narrow->data, store, 1, packed->storage->data, packed->panels, 1, narrow->numel);
    sc_packed *kept = gemm_packed_from(narrow, packed->dtype, packed->n, packed->k);
    sc_release(cx, packed);
    return kept;
}

SC_KERNEL sc_packed *sc_pack_linear_kept(sc_ctx *cx, sc_tensor *const *w, int count, int slot, int store) {
    sc_packed *packed = (sc_packed *)(void *)sc_ctx_kept(cx, slot);
    if (packed) return packed->waits ? gemm_waiting(cx, packed, w[0]) : packed;
    packed = sc_pack_linear(cx, w, count);
    if (!packed) return NULL;
    bool waits = packed->source && store == packed->panels && (int64_t)packed->storage->nbytes > GEMM_FAR;
    if (packed->source) {
        if (!waits) gemm_pack_late(cx, packed);
        sc_release(cx, packed->source);
        packed->source = NULL, packed->waits = waits;
    }
    if (store != packed->panels && !(packed = gemm_narrow(cx, packed, store))) return NULL;
    if (waits) return sc_ctx_keep_empty(cx, slot, &packed->obj, &packed->storage) < 0 ? NULL : gemm_waiting(cx, packed, w[0]);
    return sc_ctx_keep(cx, slot, &packed->obj, &packed->storage, NULL) < 0 ? NULL : packed;
}

SC_KERNEL int sc_keep_packed(sc_ctx *cx, int slot, sc_packed *p) {
    if (p->source) {
        gemm_pack_late(cx, p);
        sc_release(cx, p->source);
        p->source = NULL;
    }
    return sc_ctx_keep(cx, slot, &p->obj, &p->storage, NULL);
}

SC_KERNEL int sc_check_linear_packed(sc_ctx *cx, const sc_tensor *x, const sc_packed *w, const sc_tensor *bias) {
    bool fits = x->rank > 0 && x->size[x->rank - 1] == w->k && x->dtype == w->dtype && w->dtype != SC_BOOL;
    if (fits && (!bias || (bias->rank == 1 && bias->size[0] == w->n && bias->dtype == w->dtype))) return 0;
    sc_tensor like = {.dtype = w->dtype, .rank = 2, .numel = w->n * w->k, .size = {w->n, w->k}, .stride = {w->k, 1}};
    return sc_check_linear(cx, x, &like, bias) < 0 || gemm_no_bool(cx, "addmm_impl_cpu_", x, like.numel) < 0 ? -1 : 0;
}

SC_KERNEL sc_tensor *sc_linear_packed(sc_ctx *cx, const sc_tensor *x, const sc_packed *w, const sc_tensor *bias) {
    if (sc_check_linear_packed(cx, x, w, bias) < 0) return NULL;
    gemm_form form;
    gemm_operand weight = gemm_weight(cx, w, w->k ? x->numel / w->k : 0, false, &form);
    return gemm_linear_cast(cx, x, weight, form, gemm_turn(w), w->n, bias);
}

SC_KERNEL bool gemm_has_columns(const sc_packed *w) {
    return w->dtype == SC_F32 && w->panels == SC_F32 && !w->source;
}

SC_KERNEL void gemm_columns(const sc_packed *w, const float *x, const float *init, int64_t j, float *out) {
    gemm_row_vector_f32(w->n, w->k, x, w->storage->data, init, j, out);
}

SC_KERNEL sc_tensor *sc_linear_activated(sc_ctx *cx, const sc_tensor *x, const sc_packed *w, const sc_tensor *bias,
                                         sc_activation *activation) {
    if (sc_check_linear_packed(cx, x, w, bias) < 0) return NULL;
    gemm_form form;
    gemm_operand weight = gemm_weight(cx, w, w->k ? x->numel / w->k : 0, true, &form);
    return gemm_linear(cx, (sc_tensor *)x, weight, form, gemm_turn(w), w->n, (sc_tensor *)bias, activation);
}

/* Compute out = addend + bias, row by row. */
static void gemm_start(const sc_tensor *addend, const sc_tensor *bias, sc_tensor *out) {
    int64_t n = bias->size[0], rows = out->numel / n;
    if (out->dtype == SC_F32) {
        const float *a = addend->data, *b = bias->data;
        float *c = out->data;
        for (int64_t i = 0; i < rows; i++, a += n, c += n)
            for (int64_t j = 0; j < n; j++) c[j] = a[j] + b[j];
    } else {
        const double *a = addend->data, *b = bias->data;
        double *c = out->data;
        for (int64_t i = 0; i < rows; i++, a += n, c += n)
            for (int64_t j = 0; j < n; j++) c[j] = a[j] + b[j];
    }
}

/* Add a product to an addend of the same shape, which starts the sums, if both are contiguous. */
static sc_tensor *gemm_add_plain(sc_ctx *cx, const sc_tensor *x, const sc_packed *w, const sc_tensor *bias,
                                 const sc_tensor *addend) {
    int64_t rows, step, n = w->n, k = w->k;
    bool floating = w->dtype == SC_F32 || w->dtype == SC_F64;
    if (!floating || addend->dtype != w->dtype || x->rank != addend->rank || addend->size[x->rank - 1] != n) return NULL;
    if (!sc_same_sizes(x->size, addend->size, x->rank - 1) || !sc_is_contiguous(addend)) return NULL;
    if (bias && (bias->rank != 1 || bias->stride[0] != 1 || bias->size[0] != n)) return NULL;
    if (!gemm_flatten(x, &rows, &step) || (x->stride[x->rank - 1] != 1 && k > 1)) return NULL;
    sc_tensor *out = sc_empty(cx, x->dtype, addend->rank, addend->size);
    if (!out || out->numel == 0) return out;
    gemm_note(cx, x->dtype, rows, n, k);
    if (bias) gemm_start(addend, bias, out);
    const void *init = bias ? out->data : addend->data;
    gemm_form form;
    const gemm_operand weight = gemm_weight(cx, w, rows, bias, &form);
    const void *panels = weight.data;
    const bool back = gemm_turn(w);
    int status = form == GEMM_PLAIN
                     ? gemm_product(cx, x->dtype, rows, n, k, (gemm_operand){x->data, step, 1}, weight, init, n, out->data)
                 : x->dtype == SC_F32
                     ? gemm_blocked_f32(cx, rows, n, k, x->data, step, panels, form, back, 0, 0, init, n, out->data, n, NULL)
                     : gemm_blocked_f64(cx, rows, n, k, x->data, step, panels, form, back, 0, 0, init, n, out->data, n, NULL);
    if (status == 0) return out;
    sc_release(cx, out);
    return NULL;
}

/* Return a + b for any shapes and strides. */
static sc_tensor *gemm_plus(sc_ctx *cx, const sc_tensor *a, const sc_tensor *b) {
    sc_iter it;
    sc_tensor *out;
    sc_tensor *in[] = {(sc_tensor *)a, (sc_tensor *)b};
    if (sc_iter_begin(cx, &it, 1, (const int[]){a->dtype}, &out, 2, in) < 0) return NULL;
    do {
        if (a->dtype == SC_F32)
            for (int64_t i = 0; i < it.n; i++) ((float *)it.p[0])[i] = ((float *)it.p[1])[i] + ((float *)it.p[2])[i];
        else
            for (int64_t i = 0; i < it.n; i++) ((double *)it.p[0])[i] = ((double *)it.p[1])[i] + ((double *)it.p[2])[i];
    } while (sc_iter_next(&it));
    return out;
}

SC_KERNEL sc_tensor *sc_linear_add(sc_ctx *cx, const sc_tensor *x, const sc_packed *w, const sc_tensor *bias,
                                   const sc_tensor *addend, bool first) {
    if (sc_check_linear_packed(cx, x, w, bias) < 0) return NULL;
    sc_tensor *out = gemm_add_plain(cx, x, w, bias, addend);
    if (out || cx->error.type[0]) return out;
    sc_tensor *product = sc_linear_packed(cx, x, w, bias);
    if (!product) return NULL;
    out = first ? gemm_plus(cx, addend, product) : gemm_plus(cx, product, addend);
    sc_release(cx, product);
    return out;
}
