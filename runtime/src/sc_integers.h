/* sc_integers.h - groups of 16-bit integers, which products multiply (ir/ops/integers.py).
 *
 * A group is the elements of 32 bits that are next to each other along the dim that is summed: a pair of 16 bits, or a quad of bytes,
 * which processors multiply and add in one or two instructions. All products are a sum over groups t of
 *
 *     out[r, v] = w[r, t] * x[offset[t] + v]
 *
 * where one group of w is repeated in a vector. In a convolution, r are filters and v pixels of the padded image: `offset` is where
 * the pixel of an element of the kernel is, and the pixels of all lines of a result stand one behind the other, with some between the
 * lines that belong to no result. In a matmul, r are rows and v columns.
 *
 * Quads are multiplied where the processor has an instruction for it (AVX-512 VNNI) and both operands fit, as bytes minus a zero point
 * do: elements of x are low + u, those of w are middle + s, where u are unsigned and s signed bytes. A sum of n products is then
 *
 *     sum(u s) + low sum(s) + middle (sum(u) + n low)
 *
 * The middle is 0 where the elements of w are signed bytes. */
#ifndef SC_INTEGERS_H
#define SC_INTEGERS_H
#include "../include/sc_vector.h"
#include "sc_gemm.h"

enum { INTEGERS_BLOCK = 16 }; /* vectors' places that stand side by side */
typedef int32_t integers_group __attribute__((may_alias));

/* Return whether quads can be multiplied. */
static inline bool integers_has_quads(void) {
#if defined __AVX512BW__ && !defined SC_PORTABLE
    return __builtin_cpu_supports("avx512vnni");
#else
    return false;
#endif
}

static inline int64_t integers_parts(int64_t n, int64_t length) { return (n + length - 1) / length; }

/* The least and the largest element of an operand, and the number that its bytes are counted from. */
typedef struct integers_span { int32_t low, high, base; } integers_span;

static SC_UNUSED void integers_widen(integers_span *s, const int16_t *v, int64_t n, int64_t step) {
    enum { LANES = 16 };
    typedef int16_t lanes __attribute__((vector_size(2 * LANES), aligned(2), may_alias));
    int64_t i = 0;
    int32_t low = s->low, high = s->high;
    if (step == 1 && n >= LANES) {
        lanes least = *(const lanes *)(const void *)v, most = least;
        for (; i + LANES <= n; i += LANES) {
            lanes of = *(const lanes *)(const void *)(v + i), is_less = of < least, is_more = of > most;
            least = (of & is_less) | (least & ~is_less), most = (of & is_more) | (most & ~is_more);
        }
        for (int k = 0; k < LANES; k++) low = least[k] < low ? least[k] : low, high = most[k] > high ? most[k] : high;
    }
    for (; i < n; i++) low = v[i * step] < low ? v[i * step] : low, high = v[i * step] > high ? v[i * step] : high;
    s->low = low, s->high = high;
}

/* Find the base of bytes for elements in a span. Return whether there is one. */
static inline bool integers_fit(integers_span *s, bool is_signed) {
    if (s->low > s->high) s->low = s->high = 0; /* no elements */
    if (is_signed) s->base = s->low >= INT8_MIN && s->high <= INT8_MAX ? 0 : s->low - INT8_MIN;
    else s->base = s->low >= 0 && s->high <= UINT8_MAX ? 0 : s->low;
    return s->high - s->low <= UINT8_MAX;
}

#define INTEGERS_NONE ((integers_span){INT32_MAX, INT32_MIN, 0}) /* of no elements */

/* Return a group of `n` elements, which are `step` apart: of bytes counted from `base`, or of 16 bits. */
SC_INLINE uint32_t integers_join(const int16_t *v, int64_t step, int64_t n, bool bytes, int32_t base) {
    uint32_t group = 0;
    if (bytes)
        for (int i = 0; i < 4; i++) group |= i < n ? (uint32_t)((v[i * step] - base) & 255) << 8 * i : 0;
    else
        for (int i = 0; i < 2; i++) group |= i < n ? (uint32_t)(uint16_t)v[i * step] << 16 * i : 0;
    return group;
}

/* A packed weight has the sums of the bytes of its filters or columns, to a whole block, and then its groups. `n` is the base of the
 * bytes, and `k` the elements of a group. */
static inline const int32_t *integers_sums(const sc_packed *w) { return w->storage->data; }
static inline const integers_group *integers_groups(const sc_packed *w, int64_t filters) {
    return (const integers_group *)integers_sums(w) + integers_parts(filters, INTEGERS_BLOCK) * INTEGERS_BLOCK;
}

/* How a convolution sums: over groups of channels of each element of the kernel or, where a filter has one channel, over groups of
 * columns of each row of the kernel. */
typedef struct integers_sum { int64_t elements, parts, inner; bool columns; } integers_sum;

static inline integers_sum integers_sum_of(const int64_t *weight, int64_t length) {
    bool columns = weight[1] == 1;
    int64_t elements = columns ? weight[3] : weight[1];
    return (integers_sum){elements, integers_parts(elements, length), columns ? weight[2] : weight[2] * weight[3], columns};
}

/* Compute x [rows, terms] times a packed matrix [terms, columns]. span: of x; its bytes must fit, where the matrix is of quads. Return -1
 * after an error. */
SC_KERNEL int integers_multiply_rows(sc_ctx *cx, const int16_t *x, int64_t rows, int64_t terms, integers_span span, const sc_packed *packed,
                                     int64_t columns, int32_t *out);

/* Return the groups of a weight of quads, [outer, parts of elements, inner], as pairs. outer: the filters, or blocks of columns. */
SC_KERNEL sc_packed *integers_as_pairs(sc_ctx *cx, const sc_packed *w, bool columns, int64_t filters, int64_t outer, int64_t elements,
                                       int64_t inner);

#endif
