/* sc_signs.c - products of tensors whose elements are -1, 0 or 1, in bits (ir/ops/signs.py).
 *
 * The product of two signs is -1 where their bits differ. So a sum of n products that are not 0 is n - 2 * (bits that differ).
 * Where elements of rows are 0, only the bits of plane 1 count, and n is their number for a row; where filters have zeros as
 * well, n is counted for each pair. Sums are exact in float while they have fewer than 2^24 terms, which the passes see to. */
#include "../include/sc_team.h"
#include "../include/sc_vector.h"
#include "sc_image.h"
#if defined __AVX2__ || defined __SSE2__
#include <immintrin.h>
#elif defined __ARM_NEON
#include <arm_neon.h>
#endif

enum { SIGNS_WORD = 64, SIGNS_BLOCK = 8, SIGNS_ROWS = 8, SIGNS_BLOCKS = 2, SIGNS_PIXELS = 64, SIGNS_CHUNK_BYTES = 1 << 17 };
enum { SIGNS_PLAIN, SIGNS_MASKED, SIGNS_TERNARY };

/* How tiles read: for each element of the kernel the words from a pixel on; words of a pixel; words of a block of filters, and
 * from plane 0 to plane 1. */
typedef struct signs_walk { const int64_t *offset; int64_t taps, words, block, rows_plane, filters_plane; } signs_walk;
typedef struct signs_counts { int32_t of[SIGNS_ROWS][SIGNS_BLOCKS * SIGNS_BLOCK]; } signs_counts;
typedef void signs_tile(const signs_walk *s, int mode, int rows, int blocks, const uint64_t *const *x, const uint64_t *w,
                        signs_counts *counts, signs_counts *places);

/* ---- ways to count bits ---- */

#define SIGNS_UNROLL _Pragma("GCC unroll 8") /* so that sums stay in registers */

#define ROWS SIGNS_ROWS
#define BLOCKS SIGNS_BLOCKS
#if defined __AVX512BW__ && !defined SC_PORTABLE
typedef uint64_t signs_v8 __attribute__((vector_size(64), aligned(8), may_alias));
typedef int32_t signs_i8 __attribute__((vector_size(32), aligned(4), may_alias));
#define VEC signs_v8
#define NARROW signs_i8
#define DIFFERENT(row, filter, present) \
    ((signs_v8)_mm512_ternarylogic_epi64((__m512i)(row), (__m512i)(filter), (__m512i)(present), 0x28))
#define LANES 8
#define LOAD(from) (*(const signs_v8 *)(const void *)(from))
#define SPREAD(word) ((signs_v8)_mm512_set1_epi64((long long)(word)))
#define N(name) signs_##name##_words
#define TARGET __attribute__((target("avx512vpopcntdq")))
#define COUNT(v) ((signs_v8)_mm512_popcnt_epi64((__m512i)(v)))
#define WIDEN(v) (v)
#define CHUNK INT64_MAX
#include "sc_signs_tile.inc"
#undef N
#undef TARGET
#undef COUNT
#undef WIDEN
#undef CHUNK
#ifndef __AVX512VPOPCNTDQ__
SC_INLINE signs_v8 signs_nibbles(signs_v8 v) {
    const __m512i table = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m512i low = _mm512_set1_epi8(15);
    __m512i x = (__m512i)v;
    return (signs_v8)_mm512_add_epi8(_mm512_shuffle_epi8(table, _mm512_and_si512(x, low)),
                                     _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(x, 4), low)));
}
#define N(name) signs_##name##_bytes
#define TARGET
#define COUNT(v) signs_nibbles(v)
#define WIDEN(v) ((signs_v8)_mm512_sad_epu8((__m512i)(v), _mm512_setzero_si512()))
#define CHUNK 31
#include "sc_signs_tile.inc"
static signs_tile *signs_best_tile(void) {
    return __builtin_cpu_supports("avx512vpopcntdq") ? signs_tile_words : signs_tile_bytes;
}
#else
static signs_tile *signs_best_tile(void) { return signs_tile_words; }
#endif
#else
#undef ROWS
#undef BLOCKS
#define TARGET
#define N(name) signs_##name##_bytes
#define BLOCKS 1
#if defined __AVX2__ && !defined SC_PORTABLE
#define ROWS 4
typedef uint64_t signs_v4 __attribute__((vector_size(32), aligned(8), may_alias));
SC_INLINE signs_v4 signs_nibbles(signs_v4 v) {
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i low = _mm256_set1_epi8(15);
    __m256i x = (__m256i)v;
    return (signs_v4)_mm256_add_epi8(_mm256_shuffle_epi8(table, _mm256_and_si256(x, low)),
                                     _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(x, 4), low)));
}
typedef int32_t signs_i4 __attribute__((vector_size(16), aligned(4), may_alias));
#define VEC signs_v4
#define NARROW signs_i4
#define LANES 4
#define SPREAD(word) ((signs_v4)_mm256_set1_epi64x((long long)(word)))
#define COUNT(v) signs_nibbles(v)
#define WIDEN(v) ((signs_v4)_mm256_sad_epu8((__m256i)(v), _mm256_setzero_si256()))
#define CHUNK 31
#elif defined __ARM_NEON && !defined SC_PORTABLE
#define ROWS 2
typedef uint64_t signs_v2 __attribute__((vector_size(16), aligned(8), may_alias));
typedef int32_t signs_i2 __attribute__((vector_size(8), aligned(4), may_alias));
#define VEC signs_v2
#define NARROW signs_i2
#define LANES 2
#define SPREAD(word) ((signs_v2){(word), (word)})
#define COUNT(v) ((signs_v2)vcntq_u8((uint8x16_t)(v)))
#define WIDEN(v) ((signs_v2)vpaddlq_u32(vpaddlq_u16(vpaddlq_u8((uint8x16_t)(v)))))
#define CHUNK 31
#else
#define ROWS 2
typedef uint64_t signs_v1 __attribute__((vector_size(8), aligned(8), may_alias));
typedef int32_t signs_i1 __attribute__((vector_size(4), aligned(4), may_alias));
#define VEC signs_v1
#define NARROW signs_i1
#define LANES 1
#define SPREAD(word) ((signs_v1){(word)})
#define COUNT(v) ((signs_v1){(uint64_t)__builtin_popcountll((v)[0])})
#define WIDEN(v) (v)
#define CHUNK INT64_MAX
#endif
#define LOAD(from) (*(const VEC *)(const void *)(from))
#define DIFFERENT(row, filter, present) (((row) ^ (filter)) & (present))
#include "sc_signs_tile.inc"
static signs_tile *signs_best_tile(void) { return signs_tile_bytes; }
#endif
enum { SIGNS_TILE_ROWS = ROWS, SIGNS_TILE_BLOCKS = BLOCKS };
#undef N
#undef TARGET
#undef VEC
#undef LANES
#undef NARROW
#undef DIFFERENT
#undef LOAD
#undef SPREAD
#undef COUNT
#undef WIDEN
#undef CHUNK
#undef ROWS
#undef BLOCKS

static int64_t signs_divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* ---- packing ---- */

/* Set the bits of up to 64 elements: those that are negative, and those that are not 0. */
SC_INLINE void signs_word(const float *x, int64_t n, uint64_t *negative, uint64_t *present) {
    uint64_t below = 0, other = 0;
    int64_t i = 0;
#if defined __AVX512F__ && !defined SC_PORTABLE
    for (; i + 16 <= n; i += 16) {
        __m512 v = _mm512_loadu_ps(x + i);
        below |= (uint64_t)_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_LT_OQ) << i;
        other |= (uint64_t)_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NEQ_UQ) << i;
    }
#elif defined __AVX2__ && !defined SC_PORTABLE
    for (; i + 8 <= n; i += 8) {
        __m256 v = _mm256_loadu_ps(x + i);
        below |= (uint64_t)(unsigned)_mm256_movemask_ps(_mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_LT_OQ)) << i;
        other |= (uint64_t)(unsigned)_mm256_movemask_ps(_mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_NEQ_UQ)) << i;
    }
#endif
    for (; i < n; i++) {
        below |= (uint64_t)(x[i] < 0) << i;
        other |= (uint64_t)(x[i] != 0) << i;
    }
    *negative = below;
    *present = other;
}

/* Pack n elements. Return whether one is 0. */
static bool signs_pack_row(const float *x, int64_t n, uint64_t *negative, uint64_t *present) {
    bool zeros = false;
    for (int64_t i = 0; i < n; i += SIGNS_WORD) {
        int64_t bits = n - i < SIGNS_WORD ? n - i : SIGNS_WORD, at = i / SIGNS_WORD;
        signs_word(x + i, bits, &negative[at], &present[at]);
        zeros |= present[at] != UINT64_MAX >> (SIGNS_WORD - bits);
    }
    return zeros;
}

typedef struct signs_packing {
    const float *x;
    int64_t n, words;                         /* elements of a row, or channels */
    int64_t pixels, width, line, image, first; /* of images: pixels with and without padding, as words of the result */
    uint64_t *to, *present;
    bool zeros[SC_TEAM_MAX];
} signs_packing;

static void signs_pack_rows(void *arg, int64_t begin, int64_t end, int worker) {
    signs_packing *p = arg;
    for (int64_t r = begin; r < end; r++)
        p->zeros[worker] |= signs_pack_row(p->x + r * p->n, p->n, p->to + r * p->words, p->present + r * p->words);
}

static bool signs_any(const bool *zeros) {
    bool any = false;
    for (int i = 0; i < SC_TEAM_MAX; i++) any |= zeros[i];
    return any;
}

/* Drop plane 1 where no element is 0. */
static sc_tensor *signs_trimmed(sc_tensor *t, bool zeros) {
    if (zeros) return t;
    t->size[0] = 1;
    t->numel /= 2;
    return t;
}

SC_KERNEL sc_tensor *sc_signs_rows(sc_ctx *cx, sc_tensor *x) {
    sc_tensor *in = sc_contiguous(cx, x);
    if (!in) return NULL;
    int last = in->rank - 1;
    int64_t size[SC_MAX_RANK] = {2}, n = in->size[last], words = signs_divide_up(n, SIGNS_WORD), rows = 1;
    for (int d = 0; d < last; d++) rows *= size[d + 1] = in->size[d];
    size[in->rank] = words;
    sc_tensor *out = sc_empty(cx, SC_I64, in->rank + 1, size);
    if (out) {
        signs_packing p = {.x = in->data, .n = n, .words = words, .to = out->data};
        p.present = p.to + rows * words;
        sc_parallel(cx, rows, 1, (double)rows * (double)n / 8, signs_pack_rows, &p);
        signs_trimmed(out, signs_any(p.zeros));
    }
    sc_release(cx, in);
    return out;
}

/* Pack some pixels, up to SIGNS_PIXELS, of up to 64 channels. x: the first pixel of the first channel. */
static void signs_pack_pixels(const signs_packing *p, const float *x, int64_t channels, int64_t n, uint64_t *negative,
                              uint64_t *present) {
    uint32_t below[2][SIGNS_PIXELS] = {{0}}, other[2][SIGNS_PIXELS] = {{0}};
    for (int64_t c = 0; c < channels; c++, x += p->pixels) {
        uint32_t bit = (uint32_t)1 << c % 32, *restrict b = below[c / 32], *restrict o = other[c / 32];
        for (int64_t i = 0; i < n; i++) { /* without branches, so that it becomes vector code */
            b[i] |= bit & -(uint32_t)(x[i] < 0);
            o[i] |= bit & -(uint32_t)(x[i] != 0);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        negative[i] = below[0][i] | (uint64_t)below[1][i] << 32;
        present[i] = other[0][i] | (uint64_t)other[1][i] << 32;
    }
}

static void signs_pack_images(void *arg, int64_t begin, int64_t end, int worker) {
    signs_packing *p = arg;
    uint64_t negative[SIGNS_PIXELS], present[SIGNS_PIXELS];
    for (int64_t i = begin; i < end; i++)
        for (int64_t word = 0; word < p->words; word++) {
            int64_t left = p->n - word * SIGNS_WORD, channels = left < SIGNS_WORD ? left : SIGNS_WORD;
            const float *x = p->x + (i * p->n + word * SIGNS_WORD) * p->pixels;
            for (int64_t from = 0; from < p->pixels; from += SIGNS_PIXELS) {
                int64_t n = p->pixels - from < SIGNS_PIXELS ? p->pixels - from : SIGNS_PIXELS;
                signs_pack_pixels(p, x + from, channels, n, negative, present);
                for (int64_t j = 0; j < n; j++) {
                    int64_t y = (from + j) / p->width, column = (from + j) % p->width;
                    int64_t at = i * p->image + p->first + y * p->line + column * p->words + word;
                    p->to[at] = negative[j];
                    p->present[at] = present[j];
                    p->zeros[worker] |= present[j] != UINT64_MAX >> (SIGNS_WORD - channels);
                }
            }
        }
}

SC_KERNEL sc_tensor *sc_signs_image(sc_ctx *cx, sc_tensor *x, const int64_t *weight,
                                    const int64_t *stride, const int64_t *padding, const int64_t *dilation) {
    if (sc_check_conv2d(cx, x, weight, stride, padding, dilation) < 0) return NULL;
    sc_tensor *in = sc_contiguous(cx, x);
    if (!in) return NULL;
    const int64_t *n = in->size, words = signs_divide_up(n[1], SIGNS_WORD);
    const int64_t size[5] = {2, n[0], n[2] + 2 * padding[0], n[3] + 2 * padding[1], words};
    bool is_padded = padding[0] || padding[1];
    sc_tensor *out = sc_empty(cx, SC_I64, 5, size);
    if (out) {
        signs_packing p = {.x = in->data, .n = n[1], .words = words, .pixels = n[2] * n[3], .width = n[3],
                           .line = size[3] * words, .image = size[2] * size[3] * words, .to = out->data};
        p.first = padding[0] * p.line + padding[1] * words;
        p.present = p.to + n[0] * p.image;
        if (is_padded) memset(out->data, 0, (size_t)out->numel * sizeof(int64_t));
        sc_parallel(cx, n[0], 1, (double)in->numel / 8, signs_pack_images, &p);
        signs_trimmed(out, is_padded || signs_any(p.zeros));
    }
    sc_release(cx, in);
    return out;
}

static bool signs_has_zero(const float *x, int64_t n) {
    bool zero = false;
    for (int64_t i = 0; i < n; i++) zero |= x[i] == 0;
    return zero;
}

/* Pack the filters [F, channels, area], with zeros to a whole block. */
static void signs_pack_filters(const float *x, int64_t filters, int64_t channels, int64_t area, uint64_t *to, uint64_t *present) {
    int64_t words = signs_divide_up(channels, SIGNS_WORD);
    float taps[SIGNS_WORD];
    for (int64_t f = 0; f < filters; f++)
        for (int64_t t = 0; t < area; t++)
            for (int64_t word = 0; word < words; word++) {
                int64_t left = channels - word * SIGNS_WORD, n = left < SIGNS_WORD ? left : SIGNS_WORD;
                const float *from = x + (f * channels + word * SIGNS_WORD) * area + t;
                int64_t at = ((f / SIGNS_BLOCK * area + t) * words + word) * SIGNS_BLOCK + f % SIGNS_BLOCK;
                uint64_t other;
                for (int64_t i = 0; i < n; i++) taps[i] = from[i * area];
                signs_word(taps, n, &to[at], &other);
                if (present) present[at] = other;
            }
}

SC_KERNEL sc_tensor *sc_signs_filters(sc_ctx *cx, sc_tensor *w) {
    sc_tensor *in = sc_contiguous(cx, w);
    if (!in) return NULL;
    int64_t area = in->rank == 4 ? in->size[2] * in->size[3] : 1, words = signs_divide_up(in->size[1], SIGNS_WORD);
    bool zeros = signs_has_zero(in->data, in->numel);
    const int64_t size[5] = {zeros ? 2 : 1, signs_divide_up(in->size[0], SIGNS_BLOCK), area, words, SIGNS_BLOCK};
    sc_tensor *out = sc_empty(cx, SC_I64, 5, size);
    if (out) {
        uint64_t *to = out->data;
        memset(to, 0, (size_t)out->numel * sizeof *to);
        signs_pack_filters(in->data, in->size[0], in->size[1], area, to, zeros ? to + out->numel / 2 : NULL);
    }
    sc_release(cx, in);
    return out;
}

/* ---- products ---- */

/* A product of pixels, whose words are at x, and filters. The result of pixel q of filter f is at
 * q / plane * image + q % plane * pixel + f * filter. */
typedef struct signs_product {
    signs_walk walk;
    signs_tile *tile;
    int mode;
    const uint64_t *x, *w;
    int64_t terms, filters, blocks, count, plane, width;      /* of a result: pixels, pixels of an image and of a line */
    int64_t x_image, x_line, x_pixel;                         /* words */
    int64_t image, pixel, filter;
    int64_t groups, chunk;
    const int32_t *present; /* of each pixel; NULL unless SIGNS_MASKED */
    float *out;
} signs_product;

static const uint64_t *signs_pixel(const signs_product *p, int64_t q) {
    int64_t in_image = q % p->plane;
    return p->x + q / p->plane * p->x_image + in_image / p->width * p->x_line + in_image % p->width * p->x_pixel;
}

/* Return the number of elements of a pixel's window that are not 0. */
static int32_t signs_present(const signs_walk *s, const uint64_t *x) {
    int64_t n = 0;
    for (int64_t t = 0; t < s->taps; t++)
        for (int64_t k = 0; k < s->words; k++) n += __builtin_popcountll(x[s->offset[t] + k + s->rows_plane]);
    return (int32_t)n;
}

typedef float signs_f8 __attribute__((vector_size(32)));

/* Exchange rows and columns. */
SC_INLINE void signs_transpose(signs_f8 *v) {
    signs_f8 a[8];
    for (int i = 0; i < 8; i += 2) {
        a[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        a[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < 8; i++) {
        int at = i / 4 * 4 + i % 2;
        v[i] = i % 4 < 2 ? __builtin_shufflevector(a[at], a[at + 2], 0, 1, 8, 9, 4, 5, 12, 13)
                         : __builtin_shufflevector(a[at], a[at + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (int i = 0; i < 4; i++) {
        a[i] = __builtin_shufflevector(v[i], v[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        a[i + 4] = __builtin_shufflevector(v[i], v[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (int i = 0; i < 8; i++) v[i] = a[i];
}

static void signs_count_present(void *arg, int64_t begin, int64_t end, int worker) {
    const signs_product *p = arg;
    (void)worker;
    for (int64_t q = begin; q < end; q++) ((int32_t *)(uintptr_t)p->present)[q] = signs_present(&p->walk, signs_pixel(p, q));
}

static void signs_store(const signs_product *p, int64_t q, int rows, int64_t first, int filters, const signs_counts *counts,
                        const signs_counts *places, const int32_t *present) {
    enum { FILTERS = SIGNS_BLOCKS * SIGNS_BLOCK };
    float sums[SIGNS_ROWS][FILTERS], *out = p->out + q / p->plane * p->image + q % p->plane * p->pixel + first * p->filter;
    for (int r = 0; r < rows; r++)
        for (int f = 0; f < FILTERS; f++)
            sums[r][f] = (float)(int32_t)((p->mode == SIGNS_TERNARY ? (uint32_t)places->of[r][f] : (uint32_t)present[r]) -
                                         2 * (uint32_t)counts->of[r][f]);
    if (p->pixel == 1 && rows == SIGNS_ROWS && q % p->plane + rows <= p->plane) {
        for (int f = 0; f < FILTERS && f < filters; f += SIGNS_BLOCK) {
            signs_f8 lines[SIGNS_BLOCK];
            for (int r = 0; r < SIGNS_ROWS; r++) memcpy(&lines[r], &sums[r][f], sizeof lines[r]);
            signs_transpose(lines);
            for (int i = 0; i < SIGNS_BLOCK && f + i < filters; i++, out += p->filter) memcpy(out, &lines[i], sizeof lines[i]);
        }
        return;
    }
    for (int r = 0; r < rows; r++) {
        out = p->out + (q + r) / p->plane * p->image + (q + r) % p->plane * p->pixel + first * p->filter;
        if (p->filter == 1 && filters == FILTERS) memcpy(out, sums[r], sizeof sums[r]);
        else
            for (int f = 0; f < filters; f++) out[f * p->filter] = sums[r][f];
    }
}

static void signs_multiply_some(void *arg, int64_t begin, int64_t end, int worker) {
    const signs_product *p = arg;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t from = i / p->groups * p->chunk, to = from + p->chunk < p->count ? from + p->chunk : p->count;
        int64_t block = i % p->groups * SIGNS_TILE_BLOCKS, first = block * SIGNS_BLOCK;
        int blocks = (int)(p->blocks - block < SIGNS_TILE_BLOCKS ? p->blocks - block : SIGNS_TILE_BLOCKS);
        int64_t left = p->filters - first;
        int filters = (int)(left < blocks * SIGNS_BLOCK ? left : blocks * SIGNS_BLOCK);
        for (int64_t at = from; at < to; at += SIGNS_TILE_ROWS) {
            /* the last tile overlaps the one before, so that it is whole */
            int64_t q = to - at < SIGNS_TILE_ROWS && to - from >= SIGNS_TILE_ROWS ? to - SIGNS_TILE_ROWS : at;
            int rows = (int)(to - q < SIGNS_TILE_ROWS ? to - q : SIGNS_TILE_ROWS);
            const uint64_t *x[SIGNS_ROWS];
            int32_t present[SIGNS_ROWS];
            signs_counts counts, places;
            for (int r = 0; r < rows; r++) {
                x[r] = signs_pixel(p, q + r);
                present[r] = p->present ? p->present[q + r] : (int32_t)p->terms;
            }
            p->tile(&p->walk, p->mode, rows, blocks, x, p->w + block * p->walk.block, &counts, &places);
            signs_store(p, q, rows, first, filters, &counts, &places, present);
        }
    }
}

/* Compute a product whose sizes are given. x and w: signs. */
static int signs_multiply(sc_ctx *cx, signs_product *p, const sc_tensor *x, const sc_tensor *w, int64_t area, sc_tensor *out) {
    sc_tensor *ones = NULL, *present = NULL;
    p->x = x->data, p->w = w->data, p->out = out->data, p->tile = signs_best_tile();
    p->walk.block = area * p->walk.words * SIGNS_BLOCK;
    p->walk.filters_plane = w->numel / 2;
    p->walk.rows_plane = x->numel / 2;
    p->mode = w->size[0] == 2 ? SIGNS_TERNARY : x->size[0] == 2 ? SIGNS_MASKED : SIGNS_PLAIN;
    if (p->mode == SIGNS_TERNARY && x->size[0] == 1) { /* the bits behind the last channel are 0 in the filters */
        int64_t size[SC_MAX_RANK];
        memcpy(size, x->size, sizeof size);
        size[0] = 2;
        ones = sc_empty(cx, SC_I64, x->rank, size);
        if (!ones) return -1;
        memcpy(ones->data, x->data, (size_t)x->numel * sizeof(int64_t));
        memset((int64_t *)ones->data + x->numel, 255, (size_t)x->numel * sizeof(int64_t));
        p->x = ones->data;
        p->walk.rows_plane = x->numel;
    }
    p->blocks = w->size[1];
    p->groups = signs_divide_up(p->blocks, SIGNS_TILE_BLOCKS);
    int64_t bytes = p->walk.words * 8 * (p->mode == SIGNS_PLAIN ? 1 : 2), rows = SIGNS_CHUNK_BYTES / (bytes ? bytes : 1);
    p->chunk = rows < SIGNS_ROWS ? SIGNS_ROWS : rows / SIGNS_ROWS * SIGNS_ROWS;
    if (p->mode == SIGNS_MASKED) {
        present = sc_empty(cx, SC_I32, 1, &p->count);
        if (!present) return -1;
        p->present = present->data;
        sc_parallel(cx, p->count, 64, (double)p->count * (double)p->walk.block / 8, signs_count_present, p);
    }
    double words = (double)p->count * (double)p->blocks * (double)p->walk.block;
    sc_parallel(cx, signs_divide_up(p->count, p->chunk) * p->groups, 1, words / 8, signs_multiply_some, p);
    sc_release(cx, ones);
    sc_release(cx, present);
    return 0;
}

static sc_tensor *signs_checked(sc_ctx *cx, sc_tensor *out, int status) {
    if (status == 0) return out;
    sc_release(cx, out);
    return NULL;
}

SC_KERNEL sc_tensor *sc_signs_linear(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const int64_t *weight) {
    int64_t size[SC_MAX_RANK], rows = 1, start = 0, words = w->size[3];
    for (int d = 1; d < x->rank - 1; d++) rows *= size[d - 1] = x->size[d];
    size[x->rank - 2] = weight[0];
    sc_tensor *out = sc_empty(cx, SC_F32, x->rank - 1, size);
    if (!out || !out->numel) return out;
    signs_product p = {.walk = {&start, 1, words, 0, 0, 0}, .terms = weight[1], .filters = weight[0], .count = rows, .plane = rows,
                       .width = rows, .x_pixel = words, .pixel = weight[0], .filter = 1};
    return signs_checked(cx, out, signs_multiply(cx, &p, x, w, 1, out));
}

SC_KERNEL sc_tensor *sc_signs_conv2d(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, bool channels_last, const int64_t *weight,
                                     const int64_t *stride, const int64_t *dilation) {
    const int64_t *in = x->size + 1;
    int64_t size[4] = {in[0], weight[0]}, words = in[3], area = weight[2] * weight[3];
    for (int i = 0; i < 2; i++) size[2 + i] = (in[1 + i] - dilation[i] * (weight[2 + i] - 1) - 1) / stride[i] + 1;
    int64_t plane = size[2] * size[3], last[4] = {plane * size[1], 1, size[3] * size[1], size[1]};
    if (size[0] == 0) channels_last = false;
    sc_tensor *out = channels_last ? sc_empty_strided(cx, SC_F32, 4, size, last) : sc_empty(cx, SC_F32, 4, size);
    sc_tensor *offsets = sc_empty(cx, SC_I64, 1, &area);
    int status = out && offsets ? 0 : -1;
    if (status == 0 && out->numel) {
        int64_t *offset = offsets->data;
        for (int64_t t = 0; t < area; t++)
            offset[t] = (t / weight[3] * dilation[0] * in[2] + t % weight[3] * dilation[1]) * words;
        signs_product p = {.walk = {offset, area, words, 0, 0, 0}, .terms = weight[1] * area, .filters = weight[0],
                           .count = size[0] * plane, .plane = plane, .width = size[3], .x_image = in[1] * in[2] * words,
                           .x_line = stride[0] * in[2] * words, .x_pixel = stride[1] * words, .image = plane * size[1],
                           .pixel = channels_last ? size[1] : 1, .filter = channels_last ? 1 : plane};
        status = signs_multiply(cx, &p, x, w, area, out);
    }
    sc_release(cx, offsets);
    return signs_checked(cx, out, status);
}
