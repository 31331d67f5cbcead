/* sc_integers.c - pack weights of 16-bit integers for products (ir/ops/integers.py). */
#include "sc_integers.h"

static sc_packed *integers_packed(sc_tensor *groups, int32_t base, int64_t elements) {
    return groups ? gemm_packed_from(groups, SC_I32, base, elements) : NULL;
}

/* Return memory for the groups of a weight whose sums are 0; *groups is where they begin. */
static sc_tensor *integers_room(sc_ctx *cx, int64_t filters, int64_t count, uint32_t **groups) {
    int64_t sums = integers_parts(filters, INTEGERS_BLOCK) * INTEGERS_BLOCK, size = sums + count;
    sc_tensor *out = sc_empty(cx, SC_I32, 1, &size);
    if (!out) return NULL;
    memset(out->data, 0, (size_t)sums * sizeof(int32_t));
    *groups = (uint32_t *)out->data + sums;
    return out;
}

static sc_packed *integers_pack_columns(sc_ctx *cx, const sc_tensor *matrix, bool bytes, int32_t base) {
    const int64_t terms = matrix->size[0], columns = matrix->size[1], down = matrix->stride[0], across = matrix->stride[1];
    const int64_t length = bytes ? 4 : 2, blocks = integers_parts(columns, INTEGERS_BLOCK), groups = integers_parts(terms, length);
    uint32_t *to;
    sc_tensor *out = integers_room(cx, columns, blocks * groups * INTEGERS_BLOCK, &to);
    if (!out) return NULL;
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t t = 0; t < terms; t += length)
            for (int64_t i = b * INTEGERS_BLOCK; i < (b + 1) * INTEGERS_BLOCK; i++, to++) {
                const int16_t *from = (const int16_t *)matrix->data + t * down + i * across;
                int64_t n = i < columns ? terms - t : 0;
                *to = bytes ? integers_join(from, down, n, true, base) : integers_join(from, down, n, false, 0);
                for (int k = 0; bytes && k < 4; k++) ((int32_t *)out->data)[i] += (int32_t)(*to >> 8 * k & 255);
            }
    return integers_packed(out, base, length);
}

SC_KERNEL sc_packed *sc_integers_columns(sc_ctx *cx, const sc_tensor *matrix) {
    integers_span span = INTEGERS_NONE;
    for (int64_t i = 0; i < matrix->size[0]; i++)
        integers_widen(&span, (const int16_t *)matrix->data + i * matrix->stride[0], matrix->size[1], matrix->stride[1]);
    bool bytes = integers_fit(&span, false) && integers_has_quads();
    return integers_pack_columns(cx, matrix, bytes, span.base);
}

static sc_packed *integers_pack_filters(sc_ctx *cx, const sc_tensor *weight, bool bytes, int32_t base) {
    const int64_t *n = weight->size, *step = weight->stride, length = bytes ? 4 : 2;
    integers_sum sum = integers_sum_of(n, length);
    int64_t next = step[sum.columns ? 3 : 1];
    uint32_t *to;
    sc_tensor *out = integers_room(cx, n[0], n[0] * sum.parts * sum.inner, &to);
    if (!out) return NULL;
    for (int64_t f = 0; f < n[0]; f++)
        for (int64_t e = 0; e < sum.elements; e += length)
            for (int64_t k = 0; k < sum.inner; k++, to++) {
                int64_t place = sum.columns ? k * step[2] : k / n[3] * step[2] + k % n[3] * step[3], left = sum.elements - e;
                const int16_t *from = (const int16_t *)weight->data + f * step[0] + e * next + place;
                *to = bytes ? integers_join(from, next, left, true, base) : integers_join(from, next, left, false, 0);
                for (int i = 0; bytes && i < 4; i++) ((int32_t *)out->data)[f] += (int8_t)(*to >> 8 * i & 255);
            }
    return integers_packed(out, base, length);
}

SC_KERNEL sc_packed *sc_integers_filters(sc_ctx *cx, const sc_tensor *weight) {
    integers_span span = INTEGERS_NONE;
    const int64_t *n = weight->size, *step = weight->stride;
    for (int64_t i = 0; i < n[0] * n[1] * n[2]; i++) {
        int64_t place = i / n[1] / n[2] * step[0] + i / n[2] % n[1] * step[1] + i % n[2] * step[2];
        integers_widen(&span, (const int16_t *)weight->data + place, n[3], step[3]);
    }
    bool bytes = integers_fit(&span, true) && integers_has_quads();
    return integers_pack_filters(cx, weight, bytes, span.base);
}

SC_KERNEL sc_packed *integers_as_pairs(sc_ctx *cx, const sc_packed *w, bool columns, int64_t filters, int64_t outer, int64_t elements,
                                       int64_t inner) {
    const int64_t quads = integers_parts(elements, 4), pairs = integers_parts(elements, 2);
    const uint32_t *from = (const uint32_t *)integers_groups(w, filters);
    const int32_t base = (int32_t)w->n;
    uint32_t *to;
    sc_tensor *out = integers_room(cx, filters, outer * pairs * inner, &to);
    if (!out) return NULL;
    for (int64_t i = 0; i < outer * pairs * inner; i++) {
        int64_t pair = i / inner % pairs;
        uint32_t quad = from[(i / inner / pairs * quads + pair / 2) * inner + i % inner] >> pair % 2 * 16;
        int16_t of[2];
        for (int k = 0; k < 2; k++) {
            int32_t byte = quad >> 8 * k & 255;
            of[k] = (int16_t)(2 * pair + k >= elements ? 0 : base + (columns ? byte : (int8_t)byte)); /* those of filters are signed */
        }
        *to++ = integers_join(of, 1, 2, false, 0);
    }
    return integers_packed(out, 0, 2);
}
