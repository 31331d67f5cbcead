/* sc_linear_argmax.c - the position of the largest element of each row of a product by a frozen weight, of which only the elements that
 * may be the largest are computed in float (ir/passes/estimate_products.py).
 *
 * Let a row w of the weight be t q + e, and a row x of the input s p + d, where q and p are signed bytes. Then, by Cauchy and Schwarz,
 *
 *     |x w - s t (p q)| = |x e + t q d| <= |x| |e| + |t q| |d|
 *
 * in Euclidean norms, and the product of bytes reads a quarter of the weight's memory. Elements whose upper bound is below the largest
 * lower bound are not computed. The others have the bits that sc_linear_packed gives them. Comparisons are such that a bound that is
 * NaN, as that of a weight with NaN is, excludes nothing. */
#include "sc_gemm.h"
#include "sc_integers.h"
#include <math.h>

enum { ARGMAX_ROWS = 4 }; /* of more rows, each element of the weight is worth reading */
#define ARGMAX_ULP 0x1p-23
#define ARGMAX_LEAST 0x1p-120f /* covers what is lost below the smallest normal floats */

typedef float argmax_v __attribute__((vector_size(SC_VL), aligned(4), may_alias));
typedef int32_t argmax_i __attribute__((vector_size(SC_VL), aligned(4), may_alias));
enum { ARGMAX_LANES = SC_VL / sizeof(float), ARGMAX_GROUP = 4 /* vectors that are tested at once */ };

SC_INLINE argmax_v argmax_magnitude(argmax_v x) { return (argmax_v)((argmax_i)x & INT32_MAX); }

/* An estimate is a packed matrix of integers [K, N]. Behind it are, for each row of the weight and to a whole block, the scale t, and
 * the norms |e| and |t q|. */
enum { ARGMAX_SCALES, ARGMAX_REST, ARGMAX_BYTES, ARGMAX_NUMBERS };
static int64_t argmax_whole(int64_t n) { return integers_parts(n, INTEGERS_BLOCK) * INTEGERS_BLOCK; }
static float *argmax_numbers(const sc_packed *estimate, int64_t n, int64_t k) {
    return (float *)((uint32_t *)(uintptr_t)integers_groups(estimate, n) + argmax_whole(n) * integers_parts(k, estimate->k));
}

/* x = scale * bytes + rest; norms are those of x and of the rest. */
typedef struct argmax_split { float scale, norm, rest; } argmax_split;

/* Round x [k] to signed bytes times a scale, which is NaN if x has an element that is not finite. */
static argmax_split argmax_bytes(const float *x, int64_t k, int16_t *to) {
    int32_t bits = 0; /* of the largest magnitude: floats without signs are ordered as integers are, NaNs last */
    for (int64_t i = 0; i < k; i++) {
        int32_t of;
        memcpy(&of, x + i, sizeof of);
        bits = (of & INT32_MAX) > bits ? of & INT32_MAX : bits;
    }
    float most;
    memcpy(&most, &bits, sizeof most);
    const float per = 127 / most, scale = most / 127;
    if (!isfinite(most) || !isfinite(per)) { /* or so small that the bytes are not worth a bound */
        memset(to, 0, (size_t)k * sizeof *to);
        return most == 0 ? (argmax_split){0, 0, 0} : (argmax_split){NAN, NAN, NAN};
    }
    argmax_v squares = {0}, rests = {0};
    int64_t i = 0;
    for (; i + ARGMAX_LANES <= k; i += ARGMAX_LANES) {
        argmax_v of = *(const argmax_v *)(x + i) * per, rounded = (of + 0x1.8p23f) - 0x1.8p23f;
        argmax_i integers = __builtin_convertvector(rounded, argmax_i);
        for (int l = 0; l < ARGMAX_LANES; l++) to[i + l] = (int16_t)integers[l];
        squares += of * of, rests += (of - rounded) * (of - rounded);
    }
    float square = 0, rest = 0;
    for (; i < k; i++) {
        float of = x[i] * per, rounded = rintf(of);
        to[i] = (int16_t)rounded;
        square += of * of, rest += (of - rounded) * (of - rounded);
    }
    for (int l = 0; l < ARGMAX_LANES; l++) square += squares[l], rest += rests[l];
    /* `of` is rounded, and so are scale and per */
    const float off = (float)(4 * ARGMAX_ULP) * sqrtf(square), slack = scale * (float)(1 + ARGMAX_ULP * (double)(k + 64));
    return (argmax_split){scale, slack * sqrtf(square), slack * (sqrtf(rest) + off)};
}

SC_KERNEL sc_packed *sc_pack_estimate(sc_ctx *cx, const sc_tensor *w) {
    const int64_t n = w->size[0], k = w->size[1], whole = argmax_whole(n), count = ARGMAX_NUMBERS * whole;
    sc_tensor *rows = sc_contiguous(cx, (sc_tensor *)(uintptr_t)w), *bytes = rows ? sc_empty(cx, SC_I16, 2, w->size) : NULL;
    sc_tensor *columns = bytes ? sc_transpose(cx, bytes, 0, 1) : NULL, *all = NULL;
    sc_tensor *numbers = columns ? sc_empty(cx, SC_F32, 1, &count) : NULL;
    sc_packed *packed = NULL, *estimate = NULL;
    if (!numbers) goto done;
    float *made = memset(numbers->data, 0, (size_t)count * sizeof *made);
    for (int64_t i = 0; i < n; i++) {
        argmax_split row = argmax_bytes((const float *)rows->data + i * k, k, (int16_t *)bytes->data + i * k);
        made[ARGMAX_SCALES * whole + i] = row.scale;
        made[ARGMAX_REST * whole + i] = row.rest;
        made[ARGMAX_BYTES * whole + i] = row.norm + row.rest;
    }
    if (!(packed = sc_integers_columns(cx, columns))) goto done;
    int64_t groups = (int32_t *)(void *)argmax_numbers(packed, n, k) - integers_sums(packed);
    if (!(all = sc_empty(cx, SC_I32, 1, (int64_t[]){groups + count}))) goto done;
    memcpy(all->data, packed->storage->data, (size_t)groups * sizeof(int32_t));
    memcpy((int32_t *)all->data + groups, made, (size_t)count * sizeof *made);
    estimate = gemm_packed_from(all, SC_I32, packed->n, packed->k);
done:
    sc_release(cx, rows);
    sc_release(cx, bytes);
    sc_release(cx, columns);
    sc_release(cx, numbers);
    sc_release(cx, packed);
    return estimate;
}

/* A row x of the input, and the bounds of its products. */
typedef struct argmax_row {
    const sc_packed *weight;
    const float *x, *bias, *numbers;
    const int32_t *sums; /* of products of bytes */
    argmax_split split;  /* of x */
    float rounding;      /* of a sum in float, beside the product of the norms */
    float *upper;
} argmax_row;

/* Compute the upper bounds of some elements from i on, and return the lower ones. If the product of the norms is infinite, sums in
 * float may be, and so are the bounds. */
SC_INLINE argmax_v argmax_bounds(const argmax_row *row, int64_t i, argmax_i sums, argmax_v bias) {
    const int64_t whole = argmax_whole(row->weight->n);
    argmax_v scale = *(const argmax_v *)(row->numbers + ARGMAX_SCALES * whole + i);
    argmax_v rest = *(const argmax_v *)(row->numbers + ARGMAX_REST * whole + i);
    argmax_v bytes = *(const argmax_v *)(row->numbers + ARGMAX_BYTES * whole + i);
    argmax_v about = row->split.scale * scale * __builtin_convertvector(sums, argmax_v) + bias;
    argmax_v off = row->split.norm * rest + row->split.rest * bytes + row->split.norm * bytes * row->rounding;
    off += (float)(4 * ARGMAX_ULP) * argmax_magnitude(bias) + ARGMAX_LEAST;
    *(argmax_v *)(row->upper + i) = about + off;
    return about - off;
}

SC_INLINE argmax_v argmax_larger(argmax_v a, argmax_v b) {
    argmax_i more = a > b;
    return (argmax_v)(((argmax_i)a & more) | ((argmax_i)b & ~more));
}

/* Compute all upper bounds, and return the largest lower one. */
SC_INLINE float argmax_bound_of(const argmax_row *row, const bool has_bias) {
    const int64_t n = row->weight->n;
    argmax_v most = (argmax_v){0} - INFINITY, bias = {0};
    int64_t i = 0;
    for (; i + ARGMAX_LANES <= n; i += ARGMAX_LANES) {
        if (has_bias) bias = *(const argmax_v *)(row->bias + i);
        most = argmax_larger(argmax_bounds(row, i, *(const argmax_i *)(row->sums + i), bias), most);
    }
    if (i < n) {
        argmax_i sums = {0};
        memcpy(&sums, row->sums + i, (size_t)(n - i) * sizeof *row->sums);
        if (has_bias) memcpy(&bias, row->bias + i, (size_t)(n - i) * sizeof *row->bias);
        argmax_v lower = argmax_bounds(row, i, sums, bias);
        for (int64_t l = n - i; l < ARGMAX_LANES; l++) lower[l] = row->upper[i + l] = -INFINITY;
        most = argmax_larger(lower, most);
    }
    float bound = most[0];
    for (int l = 1; l < ARGMAX_LANES; l++) bound = most[l] > bound ? most[l] : bound;
    return bound;
}

/* Return whether all bounds of `count` vectors from i on are below. */
SC_INLINE bool argmax_skips(const float *upper, int count, float bound) {
    argmax_i below = *(const argmax_v *)upper < bound;
    for (int v = 1; v < count; v++) below &= *(const argmax_v *)(upper + v * ARGMAX_LANES) < bound;
    uint64_t words[SC_VL / 8], all = UINT64_MAX;
    memcpy(words, &below, sizeof words);
    for (int w = 0; w < SC_VL / 8; w++) all &= words[w];
    return all == UINT64_MAX;
}

/* Return the first position of the largest element, or of the first NaN. */
static int64_t argmax_find(const argmax_row *row) {
    enum { STEP = ARGMAX_GROUP * ARGMAX_LANES };
    const int64_t n = row->weight->n;
    const float bound = row->bias ? argmax_bound_of(row, true) : argmax_bound_of(row, false);
    int64_t at = -1;
    float largest = 0;
    for (int64_t i = 0; i < n; i += ARGMAX_LANES) {
        while (n - i >= STEP && argmax_skips(row->upper + i, ARGMAX_GROUP, bound)) i += STEP;
        if (i >= n || argmax_skips(row->upper + i, 1, bound)) continue;
        float values[ARGMAX_LANES];
        gemm_columns(row->weight, row->x, row->bias, i, values);
        for (int l = 0; l < ARGMAX_LANES && i + l < n; l++) {
            if (isnan(values[l])) return i + l;
            if (at < 0 || values[l] > largest) at = i + l, largest = values[l];
        }
    }
    return at;
}

/* Compute all of the product. */
static sc_tensor *argmax_plain(sc_ctx *cx, const sc_tensor *x, const sc_packed *w, const sc_tensor *bias, bool keepdim) {
    sc_tensor *product = sc_linear_packed(cx, x, w, bias);
    sc_tensor *out = product ? sc_arg_reduce(cx, product, SC_ARGMAX, -1, keepdim) : NULL;
    sc_release(cx, product);
    return out;
}

/* Find positions in the rows of x, which are contiguous. Return 1 if an element of x is not finite, and -1 after an error. */
static int argmax_rows(sc_ctx *cx, const float *x, int64_t rows, const sc_packed *w, const float *bias, const sc_packed *estimate,
                       int64_t *out) {
    const int64_t sums_of = rows * w->n, bounds = argmax_whole(w->n), count = sums_of + bounds + rows * w->k / 2 + 1;
    argmax_split split[ARGMAX_ROWS];
    sc_tensor *room = sc_empty(cx, SC_I32, 1, &count);
    if (!room) return -1;
    int32_t *sums = room->data;
    float *upper = (float *)(sums + sums_of);
    int16_t *bytes = (int16_t *)(upper + bounds);
    int status = 0;
    for (int64_t r = 0; r < rows; r++) {
        split[r] = argmax_bytes(x + r * w->k, w->k, bytes + r * w->k);
        if (isnan(split[r].scale)) status = 1;
    }
    const integers_span span = {.low = -127, .high = 127};
    if (status == 0 && rows) status = integers_multiply_rows(cx, bytes, rows, w->k, span, estimate, w->n, sums);
    for (int64_t r = 0; status == 0 && r < rows; r++) {
        argmax_row row = {.weight = w, .x = x + r * w->k, .bias = bias, .numbers = argmax_numbers(estimate, w->n, w->k),
                          .sums = sums + r * w->n, .split = split[r], .rounding = (float)(ARGMAX_ULP * (double)(w->k + 8)), .upper = upper};
        out[r] = argmax_find(&row);
    }
    sc_release(cx, room);
    return status;
}

SC_KERNEL sc_tensor *sc_linear_argmax(sc_ctx *cx, const sc_tensor *x, const sc_packed *w, const sc_tensor *bias, const sc_packed *estimate,
                                      bool keepdim) {
    if (sc_check_linear_packed(cx, x, w, bias) < 0) return NULL;
    const int64_t rows = x->numel / w->k;
    bool plain_bias = !bias || (bias->rank == 1 && bias->size[0] == w->n && bias->stride[0] == 1);
    if (rows > ARGMAX_ROWS || !plain_bias || !gemm_has_columns(w)) return argmax_plain(cx, x, w, bias, keepdim);
    int64_t size[SC_MAX_RANK];
    memcpy(size, x->size, sizeof size);
    size[x->rank - 1] = 1;
    sc_tensor *whole = sc_contiguous(cx, (sc_tensor *)(uintptr_t)x), *out = sc_empty(cx, SC_I64, keepdim ? x->rank : x->rank - 1, size);
    int status = whole && out ? argmax_rows(cx, whole->data, rows, w, bias ? bias->data : NULL, estimate, out->data) : -1;
    sc_release(cx, whole);
    if (status == 0) return out;
    sc_release(cx, out);
    return status > 0 ? argmax_plain(cx, x, w, bias, keepdim) : NULL;
}
