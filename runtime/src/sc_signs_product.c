/* sc_signs_product.c - products of tensors whose elements are -1, 0 or 1, in bits (ir/ops/signs.py).
 *
 * The product of two signs is -1 where their bits differ. So a sum of n products that are not 0 is n - 2 * (bits that differ).
 * Where elements of rows are 0, only the bits of plane 1 count, and n is their number for a row; where filters have zeros as
 * well, n is counted for each pair. Sums are exact in float while they have fewer than 2^24 terms, which the passes see to. */
#include "sc_image.h"
#include "sc_signs.h"
#if defined __AVX2__ || defined __SSE2__
#include <immintrin.h>
#elif defined __ARM_NEON
#include <arm_neon.h>
#endif

enum { SIGNS_ROWS = 8, SIGNS_BLOCKS = 2, SIGNS_LINE = SIGNS_BLOCKS * SIGNS_BLOCK };
enum { SIGNS_CHUNK_BYTES = 1 << 17 }; /* of filters, which stay in a cache */
enum { SIGNS_PLAIN, SIGNS_MASKED, SIGNS_TERNARY };

/* What tiles multiply: the words of a pixel and a filter, from block to block of filters, and from plane 0 to plane 1. */
typedef struct signs_operands { int64_t words, block, rows_plane, filters_plane; } signs_operands;
typedef struct signs_counts { int32_t of[SIGNS_ROWS][SIGNS_LINE]; } signs_counts;
typedef void signs_tile(const signs_operands *s, int mode, int rows, int blocks, const uint64_t *x, const uint64_t *w,
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
#elif defined __SSE2__ && !defined SC_PORTABLE /* whose processors may have no instruction that counts bits */
#define ROWS 2
typedef uint64_t signs_v2 __attribute__((vector_size(16), aligned(8), may_alias));
typedef int32_t signs_i2 __attribute__((vector_size(8), aligned(4), may_alias));
SC_INLINE signs_v2 signs_by_parts(signs_v2 v) {
    v -= v >> 1 & 0x5555555555555555u;
    v = (v & 0x3333333333333333u) + (v >> 2 & 0x3333333333333333u);
    return (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0fu;
}
#define VEC signs_v2
#define NARROW signs_i2
#define LANES 2
#define SPREAD(word) ((signs_v2){(word), (word)})
#define COUNT(v) signs_by_parts(v)
#define WIDEN(v) ((signs_v2)_mm_sad_epu8((__m128i)(v), _mm_setzero_si128()))
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

/* ---- pixels ---- */

/* A product of pixels and filters. A pixel has `area` taps, whose words begin at x + offset[t], and become `words` words of a tile:
 * side by side, or with the bits of taps side by side if `patch`. The result of pixel q of filter f is at
 * q / plane * image + q % plane * pixel + f * filter.
 *
 * A sum starts with the number of terms that are not 0: `terms`; or that of a pixel for SIGNS_MASKED; or, where a pixel's window
 * reaches into padding that has counted as elements of 1, a number of `starts` for each filter, in a line for each pair of a row
 * and a column of the result. */
typedef struct signs_product {
    signs_operands operands;
    signs_tile *tile;
    int mode;
    bool patch;
    const uint64_t *x, *w;
    const int64_t *offset;
    int64_t area, channels, tap;                          /* tap: words of x */
    int64_t terms, filters, blocks, count, height, width; /* of a result: pixels, lines of an image and pixels of a line */
    int64_t x_plane, x_image, x_line, x_pixel;            /* words */
    int64_t image, pixel, filter;
    int64_t group, tiles; /* blocks of a piece of work; tiles of all pixels */
    const int32_t *starts;
    const int64_t *row_start, *column_start; /* where a pixel's line is: the sum of two numbers */
    uint64_t *scratch;                       /* for each worker, the words of a tile */
    float *out;
    const int32_t *limits; /* NULL if the results are sums; else they are signs: see sc_signs_thresholds */
    int64_t limit_rows;
    uint64_t *bits, *present; /* of pixels, `out_words` words each; present: NULL if none is 0 */
    int64_t out_words;
} signs_product;

/* Where pixel q is: its words, its results, and its column and line. */
typedef struct signs_cursor { const uint64_t *x; int64_t q, out, column, line; } signs_cursor;

static signs_cursor signs_at(const signs_product *p, int64_t q) {
    int64_t plane = p->height * p->width, image = q / plane, line = q % plane / p->width, column = q % p->width;
    return (signs_cursor){p->x + image * p->x_image + line * p->x_line + column * p->x_pixel, q,
                          image * p->image + q % plane * p->pixel, column, line};
}

SC_INLINE void signs_next(const signs_product *p, signs_cursor *c) {
    c->q++, c->x += p->x_pixel, c->out += p->pixel;
    if (++c->column < p->width) return;
    c->column = 0, c->x += p->x_line - p->width * p->x_pixel;
    if (++c->line < p->height) return;
    c->line = 0, c->x += p->x_image - p->height * p->x_line, c->out += p->image - p->height * p->width * p->pixel;
}

/* Gather the words of a pixel of a tile from one plane. */
SC_INLINE void signs_gather(const signs_product *p, const uint64_t *x, uint64_t *to) {
    if (p->patch) {
        for (int64_t k = 0; k < p->operands.words; k++) to[k * SIGNS_TILE_ROWS] = 0;
        for (int64_t t = 0; t < p->area; t++) signs_append(to, t * p->channels, x + p->offset[t], p->channels, SIGNS_TILE_ROWS);
        return;
    }
    for (int64_t t = 0; t < p->area; t++) {
        const uint64_t *from = x + p->offset[t];
        for (int64_t k = 0; k < p->tap; k++, to += SIGNS_TILE_ROWS) *to = from[k];
    }
}

/* Return the number of elements of a pixel of a tile that are not 0. */
static int32_t signs_present(const signs_product *p, const uint64_t *x) {
    int64_t n = 0;
    for (int64_t k = 0; k < p->operands.words; k++) n += __builtin_popcountll(x[k * SIGNS_TILE_ROWS]);
    return (int32_t)n;
}

/* ---- results ---- */

typedef float signs_f8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t signs_s8 __attribute__((vector_size(32), aligned(4), may_alias));

/* Exchange rows and columns. */
SC_INLINE void signs_transpose(signs_f8 *v) {
    signs_f8 a[8], b[8];
    for (int i = 0; i < 8; i += 2) {
        a[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        a[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 2) {
        int at = i / 4 * 4 + i / 2 % 2;
        b[i] = __builtin_shufflevector(a[at], a[at + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        b[i + 1] = __builtin_shufflevector(a[at], a[at + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (int i = 0; i < 4; i++) {
        v[i] = __builtin_shufflevector(b[i], b[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        v[i + 4] = __builtin_shufflevector(b[i], b[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

/* Return the sums of a row and a block of filters. */
SC_INLINE signs_s8 signs_sums(const int32_t *start, const int32_t *counts) {
    signs_s8 n = *(const signs_s8 *)(const void *)counts;
    return *(const signs_s8 *)(const void *)start - n - n;
}

/* Store the sums of some pixels, whose results are at `at`, and `filters` filters. */
static void signs_store(const signs_product *p, int rows, const int64_t *at, int64_t first, int filters,
                        const int32_t *const *start, const signs_counts *counts) {
    float *out = p->out + first * p->filter;
    bool is_line = p->pixel == 1 && rows == SIGNS_ROWS && at[SIGNS_ROWS - 1] == at[0] + SIGNS_ROWS - 1;
    for (int f = 0; f < filters; f += SIGNS_BLOCK) {
        signs_f8 sums[SIGNS_ROWS];
        int n = filters - f < SIGNS_BLOCK ? filters - f : SIGNS_BLOCK;
        for (int r = 0; r < rows; r++) sums[r] = __builtin_convertvector(signs_sums(start[r] + f, counts->of[r] + f), signs_f8);
        if (is_line) {
            float *to = out + at[0] + f * p->filter;
            signs_transpose(sums);
            for (int i = 0; i < n; i++, to += p->filter) *(signs_f8 *)(void *)to = sums[i];
            continue;
        }
        for (int r = 0; r < rows; r++) {
            float *to = out + at[r] + f * p->filter;
            if (p->filter == 1 && n == SIGNS_BLOCK) *(signs_f8 *)(void *)to = sums[r];
            else
                for (int i = 0; i < n; i++) to[i * p->filter] = sums[r][i];
        }
    }
}

/* Return a bit for each sum that is between two limits. */
SC_INLINE uint64_t signs_between(signs_s8 sums, signs_s8 low, signs_s8 high) {
#if defined __AVX512VL__ && !defined SC_PORTABLE
    return (uint64_t)(_mm256_cmple_epi32_mask((__m256i)low, (__m256i)sums) & _mm256_cmple_epi32_mask((__m256i)sums, (__m256i)high));
#elif defined __AVX2__ && !defined SC_PORTABLE
    return (uint64_t)(unsigned)_mm256_movemask_ps((__m256)((sums >= low) & (sums <= high)));
#else
    uint64_t bits = 0;
    signs_s8 is = (sums >= low) & (sums <= high);
    for (int i = 0; i < SIGNS_BLOCK; i++) bits |= (uint64_t)(is[i] & 1) << i;
    return bits;
#endif
}

/* Set the bits of the signs of some pixels, whose words begin at `at`, and the filters of a block. starts: from the block on. */
SC_INLINE void signs_store_block(const signs_product *p, int rows, int64_t at, int64_t block, const int32_t *const *start,
                                 const signs_counts *counts, int from, bool zeros) {
    int64_t wide = p->blocks * SIGNS_BLOCK;
    const signs_s8 *limits = (const signs_s8 *)(const void *)(p->limits + block * SIGNS_BLOCK);
    signs_s8 low = limits[0], high = limits[wide / SIGNS_BLOCK], first = low, last = high;
    if (zeros) first = limits[2 * wide / SIGNS_BLOCK], last = limits[3 * wide / SIGNS_BLOCK];
    int shift = (int)(block * SIGNS_BLOCK % SIGNS_WORD);
    at += block * SIGNS_BLOCK / SIGNS_WORD;
    for (int r = 0; r < rows; r++, at += p->out_words) {
        signs_s8 sums = signs_sums(start[r] + from, counts->of[r] + from);
        p->bits[at] |= signs_between(sums, low, high) << shift;
        if (zeros) p->present[at] |= (255 & ~signs_between(sums, first, last)) << shift;
    }
}

/* Do the same where a table has the signs of all sums. */
static void signs_store_table(const signs_product *p, int rows, int64_t at, int64_t block, const int32_t *const *start,
                              const signs_counts *counts, int from) {
    int64_t wide = p->blocks * SIGNS_BLOCK;
    const int32_t *table = p->limits + block * SIGNS_BLOCK + p->limit_rows / 2 * wide;
    at += block * SIGNS_BLOCK / SIGNS_WORD;
    for (int r = 0; r < rows; r++, at += p->out_words) {
        signs_s8 sums = signs_sums(start[r] + from, counts->of[r] + from);
        for (int i = 0; i < SIGNS_BLOCK; i++) {
            int shift = (int)(block * SIGNS_BLOCK % SIGNS_WORD) + i;
            int32_t sign = table[sums[i] * wide + i];
            p->bits[at] |= (uint64_t)(sign < 0) << shift;
            if (p->present) p->present[at] |= (uint64_t)(sign != 0) << shift;
        }
    }
}

/* Set the bits of the signs of some pixels, from q on, and the filters of some blocks, from `block` on. */
static void signs_store_bits(const signs_product *p, int rows, int64_t q, int64_t block, int blocks, const int32_t *const *start,
                             const signs_counts *counts) {
    for (int b = 0; b < blocks; b++)
        if (p->limit_rows != SIGNS_LIMITS)
            signs_store_table(p, rows, q * p->out_words, block + b, start, counts, b * SIGNS_BLOCK);
        else if (p->present) signs_store_block(p, rows, q * p->out_words, block + b, start, counts, b * SIGNS_BLOCK, true);
        else signs_store_block(p, rows, q * p->out_words, block + b, start, counts, b * SIGNS_BLOCK, false);
}

/* ---- products ---- */

static void signs_multiply_some(void *arg, int64_t begin, int64_t end, int worker) {
    const signs_product *p = arg;
    const signs_operands *s = &p->operands;
    uint64_t *words = p->scratch + worker * 2 * s->rows_plane;
    for (int64_t i = begin; i < end; i++) {
        int64_t q = i % p->tiles * SIGNS_TILE_ROWS, block = i / p->tiles * p->group, at[SIGNS_ROWS];
        int64_t end_block = block + p->group < p->blocks ? block + p->group : p->blocks;
        int rows = (int)(p->count - q < SIGNS_TILE_ROWS ? p->count - q : SIGNS_TILE_ROWS);
        int32_t terms[SIGNS_ROWS][SIGNS_LINE];
        const int32_t *start[SIGNS_ROWS];
        int64_t step = p->starts ? 1 : 0;
        signs_counts counts, places;
        signs_cursor c = signs_at(p, q);
        for (int r = 0; r < rows; r++, signs_next(p, &c)) {
            at[r] = c.out;
            signs_gather(p, c.x, words + r);
            if (p->mode != SIGNS_PLAIN) signs_gather(p, c.x + p->x_plane, words + s->rows_plane + r);
            int32_t n = p->mode == SIGNS_MASKED ? signs_present(p, words + s->rows_plane + r) : (int32_t)p->terms;
            for (int f = 0; f < SIGNS_LINE; f++) terms[r][f] = n;
            start[r] = p->starts ? p->starts + p->row_start[c.line] + p->column_start[c.column] + block * SIGNS_BLOCK
                                 : p->mode == SIGNS_TERNARY ? places.of[r] : terms[r];
        }
        for (; block < end_block; block += SIGNS_TILE_BLOCKS) {
            int64_t first = block * SIGNS_BLOCK, left = p->filters - first;
            int blocks = (int)(end_block - block < SIGNS_TILE_BLOCKS ? end_block - block : SIGNS_TILE_BLOCKS);
            p->tile(s, p->mode, rows, blocks, words, p->w + block * s->block, &counts, &places);
            if (p->limits) signs_store_bits(p, rows, q, block, blocks, start, &counts);
            else signs_store(p, rows, at, first, (int)(left < blocks * SIGNS_BLOCK ? left : blocks * SIGNS_BLOCK), start, &counts);
            for (int r = 0; r < rows; r++) start[r] += step * SIGNS_TILE_BLOCKS * SIGNS_BLOCK;
        }
    }
}

/* Compute a product whose sizes are given. x and w: signs. */
static int signs_multiply(sc_ctx *cx, signs_product *p, const sc_tensor *x, const sc_tensor *w) {
    sc_tensor *ones = NULL;
    signs_operands *s = &p->operands;
    p->x = x->data, p->w = w->data, p->tile = signs_best_tile();
    p->x_plane = x->numel / 2, p->blocks = w->size[1];
    s->words = w->size[2] * w->size[3];
    s->block = s->words * SIGNS_BLOCK;
    s->filters_plane = w->numel / 2;
    s->rows_plane = s->words * SIGNS_TILE_ROWS;
    p->mode = w->size[0] == 2 ? SIGNS_TERNARY : x->size[0] == 2 ? SIGNS_MASKED : SIGNS_PLAIN;
    if (p->mode == SIGNS_TERNARY && x->size[0] == 1) {
        int64_t size[SC_MAX_RANK];
        memcpy(size, x->size, sizeof size);
        size[0] = 2;
        ones = sc_empty(cx, SC_I64, x->rank, size);
        if (!ones) return -1;
        memcpy(ones->data, x->data, (size_t)x->numel * sizeof(int64_t));
        for (int64_t i = 0; i < x->numel; i++) ((uint64_t *)ones->data)[x->numel + i] = signs_all(p->channels, i % p->tap);
        p->x = ones->data;
        p->x_plane = x->numel;
    }
    int64_t scratch = sc_workers(cx) * 2 * s->rows_plane, most = SIGNS_CHUNK_BYTES / 8 / (s->block ? s->block : 1);
    sc_tensor *words = sc_empty(cx, SC_I64, 1, &scratch);
    if (words) {
        p->scratch = words->data;
        /* threads must not write to one word of signs */
        int64_t least = p->limits ? SIGNS_WORD / SIGNS_BLOCK : SIGNS_TILE_BLOCKS;
        p->group = most < least ? least : most / least * least;
        p->tiles = signs_divide_up(p->count, SIGNS_TILE_ROWS);
        double ns = (double)p->count * (double)p->blocks * (double)s->block / 8;
        sc_parallel(cx, p->tiles * signs_divide_up(p->blocks, p->group), 1, ns, signs_multiply_some, p);
    }
    sc_release(cx, words);
    sc_release(cx, ones);
    return words ? 0 : -1;
}

static sc_tensor *signs_checked(sc_ctx *cx, sc_tensor *out, int status) {
    if (status == 0) return out;
    sc_release(cx, out);
    return NULL;
}

/* Return a tensor of signs whose first dim is left for the planes, which are 0, and let p write there. */
static sc_tensor *signs_new_bits(sc_ctx *cx, signs_product *p, const sc_tensor *limits, int rank, int64_t *size, int64_t filters) {
    const int32_t *of = limits->data;
    bool zeros = false;
    for (int64_t f = 0; f < filters; f++) {
        if (limits->size[0] == SIGNS_LIMITS) zeros |= of[2 * limits->size[1] + f] <= of[3 * limits->size[1] + f];
        else
            for (int64_t i = 0; i < limits->size[0]; i++) zeros |= of[i * limits->size[1] + f] == 0;
    }
    size[0] = zeros ? 2 : 1;
    p->out_words = size[rank - 1] = signs_words(filters);
    sc_tensor *out = sc_empty(cx, SC_I64, rank, size);
    if (!out) return NULL;
    memset(out->data, 0, (size_t)out->numel * sizeof(int64_t));
    p->limits = of, p->limit_rows = limits->size[0], p->bits = out->data;
    if (zeros) p->present = p->bits + out->numel / 2;
    return out;
}

static sc_tensor *signs_linear(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *limits, const int64_t *weight) {
    int64_t size[SC_MAX_RANK], rows = 1, start = 0, words = w->size[3];
    for (int d = 1; d < x->rank - 1; d++) rows *= size[d] = x->size[d];
    size[x->rank - 1] = weight[0];
    signs_product p = {.offset = &start, .area = 1, .channels = weight[1], .tap = words, .terms = weight[1], .filters = weight[0],
                       .count = rows, .height = 1, .width = rows, .x_pixel = words, .pixel = weight[0], .filter = 1};
    sc_tensor *out = limits ? signs_new_bits(cx, &p, limits, x->rank, size, weight[0]) : sc_empty(cx, SC_F32, x->rank - 1, size + 1);
    if (!out || !out->numel) return out;
    if (!limits) p.out = out->data;
    return signs_checked(cx, out, signs_multiply(cx, &p, x, w));
}

SC_KERNEL sc_tensor *sc_signs_linear(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const int64_t *weight) {
    return signs_linear(cx, x, w, NULL, weight);
}

SC_KERNEL sc_tensor *sc_signs_linear_bits(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *thresholds,
                                          const int64_t *weight) {
    return signs_linear(cx, x, w, thresholds, weight);
}

/* ---- convolutions ---- */

typedef struct signs_windows {
    const int64_t *weight, *stride, *padding, *dilation;
    int64_t images, in[2], out[2], padded[2], channels, words, area;
} signs_windows;

/* Return images with padding, whose words are 0, and with plane 1 if `zeros`. The bits of plane 1 are 0 in the padding. */
static sc_tensor *signs_padded(sc_ctx *cx, const signs_windows *s, const sc_tensor *x, bool zeros) {
    const int64_t size[5] = {zeros ? 2 : 1, s->images, s->padded[0], s->padded[1], s->words};
    sc_tensor *out = sc_empty(cx, SC_I64, 5, size);
    if (!out) return NULL;
    memset(out->data, 0, (size_t)out->numel * sizeof(int64_t));
    int64_t line = s->in[1] * s->words, lines = s->images * s->in[0], plane = x->numel / x->size[0];
    for (int64_t i = 0; i < size[0] * lines; i++) {
        int64_t image = i / s->in[0], y = i % s->in[0] + s->padding[0];
        uint64_t *to = (uint64_t *)out->data + ((image * s->padded[0] + y) * s->padded[1] + s->padding[1]) * s->words;
        if (i < lines || x->size[0] == 2)
            memcpy(to, (const uint64_t *)x->data + i / lines * plane + i % lines * line, (size_t)line * sizeof *to);
        else
            for (int64_t k = 0; k < line; k++) to[k] = signs_all(s->channels, k % s->words);
    }
    return out;
}

/* Number the outputs of an axis by the taps of their windows that are in the padding: from[i] to to[i] - 1 are not. Return the
 * number of different ones. */
static int64_t signs_number(const signs_windows *s, int axis, int64_t *number, int64_t *from, int64_t *to) {
    int64_t found = 0;
    for (int64_t o = 0; o < s->out[axis]; o++) {
        int64_t at = o * s->stride[axis] - s->padding[axis], step = s->dilation[axis], n = s->weight[2 + axis], low, high, i = 0;
        low = at < 0 ? signs_divide_up(-at, step) : 0;
        high = at < s->in[axis] ? signs_divide_up(s->in[axis] - at, step) : 0;
        low = low < n ? low : n;
        high = high < n ? high : n;
        while (i < found && (from[i] != low || to[i] != high)) i++;
        from[i] = low, to[i] = high, number[o] = i;
        found += i == found;
    }
    return found;
}

/* Return the numbers with which the sums of pixels at borders start, if padding has counted as elements of 1. scratch: `wide` words
 * for each of the first 3 arrays. */
static sc_tensor *signs_starts(sc_ctx *cx, const signs_windows *s, signs_product *p, const sc_tensor *w, int64_t *rows, int64_t *columns,
                               int64_t *scratch) {
    int64_t filters = w->size[1] * SIGNS_BLOCK, *low = scratch, *high = low + s->out[0], *left = high + s->out[0];
    int64_t *right = left + s->out[1], n_rows = signs_number(s, 0, rows, low, high), n_columns = signs_number(s, 1, columns, left, right);
    const int64_t size[2] = {n_rows * n_columns + s->area, filters};
    sc_tensor *out = sc_empty(cx, SC_I32, 2, size);
    if (!out) return NULL;
    int32_t *taken = (int32_t *)out->data + n_rows * n_columns * filters; /* what a tap in the padding adds to a sum */
    const uint64_t *word = w->data;
    for (int64_t f = 0; f < filters; f += SIGNS_BLOCK)
        for (int64_t t = 0; t < s->area; t++) {
            int32_t *to = taken + t * filters + f;
            for (int i = 0; i < SIGNS_BLOCK; i++) to[i] = (int32_t)s->channels;
            for (int64_t k = 0; k < s->words; k++, word += SIGNS_BLOCK)
                for (int i = 0; i < SIGNS_BLOCK; i++) to[i] -= 2 * (int32_t)__builtin_popcountll(word[i]);
        }
    for (int64_t i = 0; i < n_rows * n_columns; i++) {
        int32_t *to = (int32_t *)out->data + i * filters;
        int64_t y = i / n_columns, x = i % n_columns;
        for (int64_t f = 0; f < filters; f++) to[f] = (int32_t)p->terms;
        for (int64_t t = 0; t < s->area; t++) {
            int64_t row = t / s->weight[3], column = t % s->weight[3];
            if (row >= low[y] && row < high[y] && column >= left[x] && column < right[x]) continue;
            for (int64_t f = 0; f < filters; f++) to[f] -= taken[t * filters + f];
        }
    }
    for (int64_t o = 0; o < s->out[0]; o++) rows[o] *= n_columns * filters;
    for (int64_t o = 0; o < s->out[1]; o++) columns[o] *= filters;
    p->starts = out->data, p->row_start = rows, p->column_start = columns;
    return out;
}

/* Compute a convolution, whose results p describes. */
static int signs_convolve(sc_ctx *cx, const signs_windows *s, signs_product *p, const sc_tensor *x, const sc_tensor *w) {
    bool is_padded = s->padding[0] || s->padding[1], patch = signs_is_patch(s->channels, s->area);
    bool zeros = x->size[0] == 2 || (is_padded && (patch || w->size[0] == 2));
    int64_t arrays = s->area + 3 * (s->out[0] + s->out[1]);
    sc_tensor *numbers = sc_empty(cx, SC_I64, 1, &arrays), *padded = NULL, *starts = NULL;
    int status = numbers ? 0 : -1;
    if (status == 0 && is_padded) {
        x = padded = signs_padded(cx, s, x, zeros);
        if (!x) status = -1;
    }
    if (status == 0) {
        int64_t *offset = numbers->data, *rows = offset + s->area, *columns = rows + s->out[0];
        for (int64_t t = 0; t < s->area; t++)
            offset[t] = (t / s->weight[3] * s->dilation[0] * s->padded[1] + t % s->weight[3] * s->dilation[1]) * s->words;
        p->patch = patch, p->offset = offset, p->area = s->area, p->channels = s->channels, p->tap = s->words;
        p->terms = s->channels * s->area, p->filters = s->weight[0], p->count = s->images * s->out[0] * s->out[1];
        p->height = s->out[0], p->width = s->out[1], p->x_image = s->padded[0] * s->padded[1] * s->words;
        p->x_line = s->stride[0] * s->padded[1] * s->words, p->x_pixel = s->stride[1] * s->words;
        if (is_padded && !zeros) {
            starts = signs_starts(cx, s, p, w, rows, columns, columns + s->out[1]);
            if (!starts) status = -1;
        }
    }
    if (status == 0) status = signs_multiply(cx, p, x, w);
    sc_release(cx, numbers);
    sc_release(cx, padded);
    sc_release(cx, starts);
    return status;
}

static sc_tensor *signs_conv2d(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *limits, bool channels_last,
                               const int64_t *weight, const int64_t *stride, const int64_t *padding, const int64_t *dilation) {
    signs_windows s = {.weight = weight, .stride = stride, .padding = padding, .dilation = dilation, .images = x->size[1],
                       .channels = weight[1], .words = x->size[4], .area = weight[2] * weight[3]};
    for (int i = 0; i < 2; i++) {
        s.in[i] = x->size[2 + i], s.padded[i] = s.in[i] + 2 * padding[i];
        s.out[i] = (s.padded[i] - dilation[i] * (weight[2 + i] - 1) - 1) / stride[i] + 1;
    }
    const int64_t size[4] = {s.images, weight[0], s.out[0], s.out[1]}, plane = s.out[0] * s.out[1];
    const int64_t last[4] = {plane * size[1], 1, size[3] * size[1], size[1]};
    int64_t of_bits[5] = {0, s.images, s.out[0], s.out[1], 0};
    if (size[0] == 0) channels_last = false;
    signs_product p = {.image = plane * size[1], .pixel = channels_last ? size[1] : 1, .filter = channels_last ? 1 : plane};
    sc_tensor *out = limits          ? signs_new_bits(cx, &p, limits, 5, of_bits, weight[0])
                     : channels_last ? sc_empty_strided(cx, SC_F32, 4, size, last)
                                     : sc_empty(cx, SC_F32, 4, size);
    if (!out || !out->numel) return out;
    if (!limits) p.out = out->data;
    return signs_checked(cx, out, signs_convolve(cx, &s, &p, x, w));
}

SC_KERNEL sc_tensor *sc_signs_conv2d(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, bool channels_last, const int64_t *weight,
                                     const int64_t *stride, const int64_t *padding, const int64_t *dilation) {
    return signs_conv2d(cx, x, w, NULL, channels_last, weight, stride, padding, dilation);
}

SC_KERNEL sc_tensor *sc_signs_conv2d_bits(sc_ctx *cx, const sc_tensor *x, const sc_tensor *w, const sc_tensor *thresholds,
                                          const int64_t *weight, const int64_t *stride, const int64_t *padding,
                                          const int64_t *dilation) {
    return signs_conv2d(cx, x, w, thresholds, false, weight, stride, padding, dilation);
}
