/* sc_signs.c - pack the signs of tensors in bits (ir/ops/signs.py). */
#include "sc_image.h"
#include "sc_signs.h"
#if defined __AVX2__ || defined __SSE2__
#include <immintrin.h>
#endif

/* How an element tells its sign, by a comparison with a bound. SIGNS_OF: the sign of the difference, which is 0 where they are
 * equal, and for NaN. The others tell when an element is -1; it is 1 otherwise. */
enum { SIGNS_OF, SIGNS_LT, SIGNS_LE, SIGNS_NOT_GE, SIGNS_NOT_GT };

/* ---- rows ---- */

SC_INLINE bool signs_is_negative(float x, float bound, int how) {
    switch (how) {
    case SIGNS_LE: return x <= bound;
    case SIGNS_NOT_GE: return !(x >= bound);
    case SIGNS_NOT_GT: return !(x > bound);
    default: return x < bound;
    }
}

/* Set the bits of up to 64 elements: those that are negative, and, for SIGNS_OF, those that are not 0. */
SC_INLINE void signs_word(const float *x, int64_t n, float bound, int how, uint64_t *negative, uint64_t *present) {
    uint64_t below = 0, above = 0;
    int64_t i = 0;
#if defined __AVX512F__ && !defined SC_PORTABLE
    const __m512 b = _mm512_set1_ps(bound);
    for (; i + 16 <= n; i += 16) {
        __m512 v = _mm512_loadu_ps(x + i);
        __mmask16 found;
        switch (how) {
        case SIGNS_LE: found = _mm512_cmp_ps_mask(v, b, _CMP_LE_OQ); break;
        case SIGNS_NOT_GE: found = _mm512_cmp_ps_mask(v, b, _CMP_NGE_UQ); break;
        case SIGNS_NOT_GT: found = _mm512_cmp_ps_mask(v, b, _CMP_NGT_UQ); break;
        default: found = _mm512_cmp_ps_mask(v, b, _CMP_LT_OQ);
        }
        below |= (uint64_t)found << i;
        if (how == SIGNS_OF) above |= (uint64_t)_mm512_cmp_ps_mask(v, b, _CMP_GT_OQ) << i;
    }
#elif defined __AVX2__ && !defined SC_PORTABLE
    const __m256 b = _mm256_set1_ps(bound);
    for (; i + 8 <= n; i += 8) {
        __m256 v = _mm256_loadu_ps(x + i), found;
        switch (how) {
        case SIGNS_LE: found = _mm256_cmp_ps(v, b, _CMP_LE_OQ); break;
        case SIGNS_NOT_GE: found = _mm256_cmp_ps(v, b, _CMP_NGE_UQ); break;
        case SIGNS_NOT_GT: found = _mm256_cmp_ps(v, b, _CMP_NGT_UQ); break;
        default: found = _mm256_cmp_ps(v, b, _CMP_LT_OQ);
        }
        below |= (uint64_t)(unsigned)_mm256_movemask_ps(found) << i;
        if (how == SIGNS_OF) above |= (uint64_t)(unsigned)_mm256_movemask_ps(_mm256_cmp_ps(v, b, _CMP_GT_OQ)) << i;
    }
#endif
    for (; i < n; i++) {
        below |= (uint64_t)signs_is_negative(x[i], bound, how) << i;
        if (how == SIGNS_OF) above |= (uint64_t)(x[i] > bound) << i;
    }
    *negative = below;
    if (how == SIGNS_OF) *present = below | above;
}

/* Pack n elements. Return whether one is 0. */
SC_INLINE bool signs_pack_row(const float *x, int64_t n, float bound, int how, uint64_t *negative, uint64_t *present) {
    bool zeros = false;
    for (int64_t i = 0; i < n; i += SIGNS_WORD) {
        int64_t bits = n - i < SIGNS_WORD ? n - i : SIGNS_WORD, at = i / SIGNS_WORD;
        signs_word(x + i, bits, bound, how, &negative[at], &present[at]);
        if (how == SIGNS_OF) zeros |= present[at] != UINT64_MAX >> (SIGNS_WORD - bits);
    }
    return zeros;
}

/* n: elements of a row, or channels; pixels: of an image; present: NULL unless SIGNS_OF. */
typedef struct signs_packing {
    const float *x;
    int64_t n, words, pixels;
    int how;
    float bound;
    uint64_t *to, *present;
    bool zeros[SC_TEAM_MAX];
} signs_packing;

/* Call a function for the way that an element tells its sign, so that each way has code of its own. */
#define SIGNS_SWITCH(how, CALL) \
    switch (how) { \
    case SIGNS_OF: CALL(SIGNS_OF); break; \
    case SIGNS_LT: CALL(SIGNS_LT); break; \
    case SIGNS_LE: CALL(SIGNS_LE); break; \
    case SIGNS_NOT_GE: CALL(SIGNS_NOT_GE); break; \
    default: CALL(SIGNS_NOT_GT); \
    }

static void signs_pack_rows(void *arg, int64_t begin, int64_t end, int worker) {
    signs_packing *p = arg;
#define PACK_ROWS(how) \
    for (int64_t r = begin; r < end; r++) \
        p->zeros[worker] |= signs_pack_row(p->x + r * p->n, p->n, p->bound, how, p->to + r * p->words, p->present + r * p->words)
    SIGNS_SWITCH(p->how, PACK_ROWS)
}

static bool signs_any(const bool *zeros) {
    bool any = false;
    for (int i = 0; i < SC_TEAM_MAX; i++) any |= zeros[i];
    return any;
}

/* Drop plane 1 where no element is 0. */
static void signs_trim(sc_tensor *t, bool zeros) {
    if (zeros || t->size[0] == 1) return;
    t->size[0] = 1;
    t->numel /= 2;
}

/* Pack `of` elements as p tells, in `count` pieces. Takes over the reference to x. */
static sc_tensor *signs_packed(sc_ctx *cx, sc_tensor *x, signs_packing *p, int rank, int64_t *size, int64_t count, sc_work *work) {
    size[0] = p->how == SIGNS_OF ? 2 : 1;
    sc_tensor *out = sc_empty(cx, SC_I64, rank, size);
    if (out) {
        p->x = x->data, p->to = out->data;
        p->present = p->to + (p->how == SIGNS_OF ? out->numel / 2 : 0);
        sc_parallel(cx, count, 1, (double)x->numel / 8, work, p);
        signs_trim(out, signs_any(p->zeros));
    }
    sc_release(cx, x);
    return out;
}

SC_KERNEL sc_tensor *sc_signs_rows(sc_ctx *cx, sc_tensor *x, int64_t how, double bound) {
    sc_tensor *in = sc_contiguous(cx, x);
    if (!in) return NULL;
    int last = in->rank - 1;
    int64_t size[SC_MAX_RANK], n = in->size[last], rows = 1;
    for (int d = 0; d < last; d++) rows *= size[d + 1] = in->size[d];
    size[in->rank] = signs_words(n);
    signs_packing p = {.n = n, .words = signs_words(n), .how = (int)how, .bound = (float)bound};
    return signs_packed(cx, in, &p, in->rank + 1, size, rows, signs_pack_rows);
}

/* ---- images ---- */

enum { SIGNS_LANES = (SC_VL < 16 ? 16 : SC_VL) / 4 };
typedef float signs_pixels __attribute__((vector_size(4 * SIGNS_LANES), aligned(4), may_alias));
typedef uint32_t signs_masks __attribute__((vector_size(4 * SIGNS_LANES), aligned(4), may_alias));

SC_INLINE signs_masks signs_are_negative(signs_pixels x, signs_pixels bound, int how) {
    switch (how) {
    case SIGNS_LE: return (signs_masks)(x <= bound);
    case SIGNS_NOT_GE: return ~(signs_masks)(x >= bound);
    case SIGNS_NOT_GT: return ~(signs_masks)(x > bound);
    default: return (signs_masks)(x < bound);
    }
}

/* Pack SIGNS_LANES pixels of up to 32 channels. */
SC_INLINE void signs_pack_half(const float *x, int64_t step, int64_t channels, float bound, int how, signs_masks *negative,
                               signs_masks *present) {
    const signs_masks none = {0};
    signs_masks below = none, other = none, bit = none + 1;
    signs_pixels to = (signs_pixels){0} + bound;
    for (int64_t c = 0; c < channels; c++, x += step, bit += bit) {
        signs_pixels v = *(const signs_pixels *)(const void *)x;
        below |= signs_are_negative(v, to, how) & bit;
        if (how == SIGNS_OF) other |= ((signs_masks)(v < to) | (signs_masks)(v > to)) & bit;
    }
    *negative = below;
    if (how == SIGNS_OF) *present = other;
}

/* Pack SIGNS_LANES pixels of up to 64 channels, whose words are `words` apart. Return whether an element is 0. */
SC_INLINE bool signs_pack_pixels(const float *x, int64_t step, int64_t channels, float bound, int how, int64_t words,
                                 uint64_t *negative, uint64_t *present) {
    signs_masks below[2], other[2] = {{0}, {0}};
    bool zeros = false;
    signs_pack_half(x, step, channels < 32 ? channels : 32, bound, how, &below[0], &other[0]);
    signs_pack_half(x + 32 * step, step, channels - 32, bound, how, &below[1], &other[1]);
    for (int i = 0; i < SIGNS_LANES; i++) {
        negative[i * words] = below[0][i] | (uint64_t)below[1][i] << 32;
        if (how != SIGNS_OF) continue;
        uint64_t there = other[0][i] | (uint64_t)other[1][i] << 32;
        zeros |= there != UINT64_MAX >> (SIGNS_WORD - channels);
        present[i * words] = there;
    }
    return zeros;
}

/* Pack a word of each pixel of an image. */
SC_INLINE bool signs_pack_image(const signs_packing *p, int64_t image, int64_t word, int how) {
    int64_t left = p->n - word * SIGNS_WORD, channels = left < SIGNS_WORD ? left : SIGNS_WORD, at = 0;
    const float *x = p->x + (image * p->n + word * SIGNS_WORD) * p->pixels;
    uint64_t *to = p->to + image * p->pixels * p->words + word, *present = p->present + (to - p->to);
    bool zeros = false;
    for (; at + SIGNS_LANES <= p->pixels; at += SIGNS_LANES)
        zeros |= signs_pack_pixels(x + at, p->pixels, channels, p->bound, how, p->words, to + at * p->words, present + at * p->words);
    if (at == p->pixels) return zeros;
    if (at) { /* some pixels are packed twice */
        at = p->pixels - SIGNS_LANES;
        return zeros | signs_pack_pixels(x + at, p->pixels, channels, p->bound, how, p->words, to + at * p->words,
                                         present + at * p->words);
    }
    for (int64_t i = 0; i < p->pixels; i++) {
        float row[SIGNS_WORD];
        for (int64_t c = 0; c < channels; c++) row[c] = x[c * p->pixels + i];
        zeros |= signs_pack_row(row, channels, p->bound, how, to + i * p->words, present + i * p->words);
    }
    return zeros;
}

static void signs_pack_images(void *arg, int64_t begin, int64_t end, int worker) {
    signs_packing *p = arg;
#define PACK_IMAGES(how) \
    for (int64_t i = begin; i < end; i++) p->zeros[worker] |= signs_pack_image(p, i / p->words, i % p->words, how)
    SIGNS_SWITCH(p->how, PACK_IMAGES)
}

SC_KERNEL sc_tensor *sc_signs_image(sc_ctx *cx, sc_tensor *x, const int64_t *weight, const int64_t *stride, const int64_t *padding,
                                    const int64_t *dilation, int64_t how, double bound) {
    if (sc_check_conv2d(cx, x, weight, stride, padding, dilation, 1) < 0) return NULL;
    bool channels_last = x->stride[1] == 1 && image_channels_last(x);
    const int64_t *n = x->size, order[4] = {0, 2, 3, 1}, words = signs_words(n[1]);
    int64_t size[5] = {0, n[0], n[2], n[3], words};
    signs_packing p = {.n = n[1], .words = words, .pixels = n[2] * n[3], .how = (int)how, .bound = (float)bound};
    sc_tensor *turned = channels_last ? sc_permute(cx, x, order, 4) : x, *in = turned ? sc_contiguous(cx, turned) : NULL;
    if (channels_last) sc_release(cx, turned);
    if (!in) return NULL;
    if (channels_last) return signs_packed(cx, in, &p, 5, size, n[0] * p.pixels, signs_pack_rows);
    return signs_packed(cx, in, &p, 5, size, n[0] * words, signs_pack_images);
}

SC_KERNEL bool sc_signs_order(const sc_tensor *x, bool weight, bool numbers) {
    static const int channels_last[4] = {1, 3, 2, 0};
    sc_tensor like = *x;
    int64_t stride[SC_MAX_RANK][SC_MAX_OPERANDS], next = 1;
    int order[SC_MAX_RANK];
    if (weight) return true;
    if (!numbers && sc_is_contiguous(x)) return false;
    bool is_last = !numbers && sc_is_channels_last(x);
    if (!numbers && !is_last && sc_is_dense(x)) return image_channels_last(x);
    for (int d = 0; d < 4; d++) stride[d][0] = x->stride[d];
    sc_order_dims(4, x->size, stride, 1, order);
    for (int i = 0; i < 4; i++) {
        int d = is_last ? channels_last[i] : order[i];
        like.stride[d] = next;
        next = sc_wrapped_product(next, x->size[d]);
    }
    return image_channels_last(&like);
}

/* ---- filters ---- */

static bool signs_has_zero(const float *x, int64_t n) {
    bool zero = false;
    for (int64_t i = 0; i < n; i++) zero |= x[i] == 0;
    return zero;
}

/* Pack the filters [F, channels, area], with zeros to a whole block. present: NULL without zeros. */
static void signs_pack_filters(const float *x, int64_t filters, int64_t channels, int64_t area, uint64_t *to, uint64_t *present) {
    bool patch = signs_is_patch(channels, area);
    int64_t words = patch ? signs_words(channels * area) : area * signs_words(channels);
    for (int64_t f = 0; f < filters; f++) {
        int64_t first = f / SIGNS_BLOCK * words * SIGNS_BLOCK + f % SIGNS_BLOCK;
        for (int64_t t = 0; t < area; t++)
            for (int64_t from = 0; from < channels; from += SIGNS_WORD) {
                float taps[SIGNS_WORD];
                uint64_t below, other;
                int64_t n = channels - from < SIGNS_WORD ? channels - from : SIGNS_WORD;
                int64_t at = patch ? t * channels + from : t * signs_words(channels) * SIGNS_WORD + from;
                for (int64_t i = 0; i < n; i++) taps[i] = x[(f * channels + from + i) * area + t];
                signs_word(taps, n, 0, SIGNS_OF, &below, &other);
                signs_append(to + first, at, &below, n, SIGNS_BLOCK);
                if (present) signs_append(present + first, at, &other, n, SIGNS_BLOCK);
            }
    }
}

SC_KERNEL sc_tensor *sc_signs_filters(sc_ctx *cx, sc_tensor *w) {
    sc_tensor *in = sc_contiguous(cx, w);
    if (!in) return NULL;
    int64_t area = in->rank == 4 ? in->size[2] * in->size[3] : 1, channels = in->size[1];
    bool zeros = signs_has_zero(in->data, in->numel), patch = signs_is_patch(channels, area);
    int64_t words = signs_words(patch ? channels * area : channels);
    const int64_t size[5] = {zeros ? 2 : 1, signs_divide_up(in->size[0], SIGNS_BLOCK), patch ? 1 : area, words, SIGNS_BLOCK};
    sc_tensor *out = sc_empty(cx, SC_I64, 5, size);
    if (out) {
        uint64_t *to = out->data;
        memset(to, 0, (size_t)out->numel * sizeof *to);
        signs_pack_filters(in->data, in->size[0], channels, area, to, zeros ? to + out->numel / 2 : NULL);
    }
    sc_release(cx, in);
    return out;
}

/* ---- thresholds ---- */

SC_KERNEL sc_tensor *sc_signs_sums(sc_ctx *cx, const sc_tensor *filters, int64_t terms) {
    const int64_t size = 2 * terms + 1;
    sc_tensor *out = sc_empty(cx, SC_F32, 1, &size);
    (void)filters; /* which are there before */
    for (int64_t i = 0; out && i < size; i++) ((float *)out->data)[i] = (float)(i - terms);
    return out;
}

/* The sums of one sign: from the first to the last, and their number. */
typedef struct signs_range { int32_t first, last, count; } signs_range;

static void signs_put(signs_range *r, int32_t sum) {
    if (r->count++ == 0) r->first = sum;
    r->last = sum;
}

SC_KERNEL sc_tensor *sc_signs_thresholds(sc_ctx *cx, sc_tensor *x, int64_t how, double bound) {
    const float b = (float)bound;
    int64_t sums = x->size[0], filters = x->size[1], wide = signs_divide_up(filters, SIGNS_BLOCK) * SIGNS_BLOCK;
    int64_t bytes = 2 * filters * (int64_t)sizeof(signs_range), size[2] = {SIGNS_LIMITS, wide};
    sc_tensor *in = sc_contiguous(cx, x), *ranges = in ? sc_empty(cx, SC_U8, 1, &bytes) : NULL, *out = NULL;
    if (ranges) {
        signs_range *negative = ranges->data, *zero = negative + filters;
        bool is_range = true;
        memset(negative, 0, (size_t)bytes);
        const float *v = in->data;
        for (int64_t i = 0; i < sums; i++)
            for (int64_t f = 0; f < filters; f++, v++) {
                int32_t sum = (int32_t)(i - sums / 2);
                if (signs_is_negative(*v, b, (int)how)) signs_put(&negative[f], sum);
                else if (how == SIGNS_OF && !(*v > b)) signs_put(&zero[f], sum);
            }
        for (int64_t f = 0; f < 2 * filters; f++)
            is_range &= negative[f].count == 0 || negative[f].count == negative[f].last - negative[f].first + 1;
        if (!is_range) size[0] = sums;
        out = sc_empty(cx, SC_I32, 2, size);
        if (out && is_range)
            for (int64_t f = 0; f < wide; f++) {
                int32_t *to = (int32_t *)out->data + f;
                const int32_t most = (int32_t)(sums / 2);
                const signs_range none = {1, 0, 0}, all = {-most, most, 1}; /* there are no filters behind the last */
                signs_range below = f < filters && negative[f].count ? negative[f] : none;
                signs_range at = f >= filters ? all : zero[f].count ? zero[f] : none;
                to[0] = below.first, to[wide] = below.last, to[2 * wide] = at.first, to[3 * wide] = at.last;
            }
        if (out && !is_range)
            for (int64_t i = 0; i < sums * wide; i++) {
                float v = i % wide < filters ? ((const float *)in->data)[i / wide * filters + i % wide] : 0;
                bool below = i % wide < filters && signs_is_negative(v, b, (int)how);
                bool none = i % wide >= filters || (how == SIGNS_OF && !(v < b || v > b));
                ((int32_t *)out->data)[i] = below ? -1 : !none;
            }
    }
    sc_release(cx, in);
    sc_release(cx, ranges);
    return out;
}

SC_KERNEL int sc_signs_check(sc_ctx *cx, const sc_tensor *image, const int64_t *weight, const int64_t *stride, const int64_t *padding,
                             const int64_t *dilation) {
    sc_tensor like = *image;
    const int64_t *n = image->size, size[4] = {n[1], weight[1], n[2], n[3]};
    like.rank = 4;
    memcpy(like.size, size, sizeof size);
    return sc_check_conv2d(cx, &like, weight, stride, padding, dilation, 1);
}

SC_KERNEL bool sc_signs_next_order(const sc_tensor *image, bool order, bool weight, bool numbers) {
    return weight || (order && image->size[1] && (numbers || image->size[2] * image->size[3] > 1));
}
