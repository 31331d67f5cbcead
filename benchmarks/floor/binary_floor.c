/* binary_floor.c - products of signs by hand, with AVX-512 VPOPCNTDQ: a linear [ROWS, TERMS] by [FILTERS, TERMS], or, with SIDE, a
 * 3 x 3 convolution of one image [TERMS, SIDE, SIDE] with padding of 1. x: floats, whose signs are packed in each call. Sizes are
 * multiples of tiles but for the number of pixels, and no element is 0. */
#include <immintrin.h>

#include "floor.h"

#define UNROLL _Pragma("GCC unroll 8")
enum { WORDS = TERMS / 64, TILE = 8, PAIR = 16 };
#ifdef SIDE
enum { WIDE = SIDE + 2, PIXELS = SIDE * SIDE, TAPS = 9, PADDED = WIDE * WIDE };
#else
enum { PIXELS = ROWS_OF_X, TAPS = 1, PADDED = ROWS_OF_X };
#endif
enum { RUN = TAPS * WORDS, GROUP = 128 * 1024 / 8 / RUN / PAIR * PAIR }; /* of filters, which stay in a cache */
static uint64_t *filters, *signs;
static float starts[9][FILTERS]; /* of sums, by the borders that a pixel is at: words of the padding count as 1 */

void prepare(const float *const *weights) {
    filters = aligned_alloc(64, (size_t)FILTERS * RUN * 8), signs = aligned_alloc(64, (size_t)PADDED * WORDS * 8 + 64);
    if (!filters || !signs) abort();
    memset(filters, 0, (size_t)FILTERS * RUN * 8), memset(signs, 0, (size_t)PADDED * WORDS * 8);
    for (size_t f = 0; f < FILTERS; f++) {
        float taken[TAPS] = {0};
        for (size_t c = 0; c < TERMS; c++)
            for (size_t t = 0; t < TAPS; t++) {
                uint64_t bit = !(weights[0][(f * TERMS + c) * TAPS + t] > 0);
                filters[((f / 8 * TAPS + t) * WORDS + c / 64) * 8 + f % 8] |= bit << c % 64;
                taken[t] += bit ? -1 : 1;
            }
        for (int at = 0; at < 9; at++) {
            starts[at][f] = TERMS * TAPS;
            for (int t = 0; TAPS == 9 && t < TAPS; t++) {
                int outside = (at / 3 == 0 && t / 3 == 0) || (at / 3 == 2 && t / 3 == 2) || (at % 3 == 0 && t % 3 == 0) ||
                               (at % 3 == 2 && t % 3 == 2);
                if (outside) starts[at][f] -= taken[t];
            }
        }
    }
}

static void pack_signs(const float *x) {
#ifdef SIDE
    for (size_t w = 0; w < WORDS; w++)
        for (size_t from = 0; from < PIXELS; from += 16) {
            size_t left = PIXELS - from;
            __mmask16 there = left < 16 ? (__mmask16)((1u << left) - 1) : (__mmask16)0xffff;
            uint32_t half[2][16];
            for (size_t h = 0; h < 2; h++) {
                __m512i bits = _mm512_setzero_si512(), bit = _mm512_set1_epi32(1);
                const float *to = x + (w * 64 + h * 32) * PIXELS + from;
                for (size_t c = 0; c < 32; c++, to += PIXELS) {
                    __mmask16 is = _mm512_cmp_ps_mask(_mm512_maskz_loadu_ps(there, to), _mm512_setzero_ps(), _CMP_NGT_UQ);
                    bits = _mm512_mask_or_epi32(bits, is, bits, bit);
                    bit = _mm512_add_epi32(bit, bit);
                }
                _mm512_storeu_si512(half[h], bits);
            }
            for (size_t p = from; p < PIXELS && p < from + 16; p++)
                signs[((p / SIDE + 1) * WIDE + p % SIDE + 1) * WORDS + w] = half[0][p - from] | (uint64_t)half[1][p - from] << 32;
        }
#else
    for (size_t i = 0; i < (size_t)PIXELS * WORDS; i++, x += 64) {
        uint64_t word = 0;
        for (int j = 0; j < 64; j += 16)
            word |= (uint64_t)_mm512_cmp_ps_mask(_mm512_loadu_ps(x + j), _mm512_setzero_ps(), _CMP_NGT_UQ) << j;
        signs[i] = word;
    }
#endif
}

/* Gather the words of a pixel. Return the sums' starts. */
INLINE const float *gather(size_t p, uint64_t *to) {
#ifdef SIDE
    size_t row = p / SIDE, column = p % SIDE;
    for (size_t t = 0; t < TAPS; t++)
        for (size_t k = 0; k < WORDS; k++, to += TILE) *to = signs[((row + t / 3) * WIDE + column + t % 3) * WORDS + k];
    size_t border[2] = {row == 0 ? 0 : row == SIDE - 1 ? 2 : 1, column == 0 ? 0 : column == SIDE - 1 ? 2 : 1};
    return starts[border[0] * 3 + border[1]];
#else
    for (size_t k = 0; k < WORDS; k++, to += TILE) *to = signs[p * WORDS + k];
    return starts[4];
#endif
}

/* Multiply n pixels by 16 filters. */
INLINE void multiply_signs(int n, const uint64_t *x, const uint64_t *w, __m256 (*sums)[2], const float *const *start) {
    __m512i sum[TILE][2];
    UNROLL for (int p = 0; p < n; p++) sum[p][0] = sum[p][1] = _mm512_setzero_si512();
    for (size_t k = 0; k < RUN; k++, w += 8, x += TILE) {
        __m512i a = _mm512_load_si512(w), b = _mm512_load_si512(w + RUN * 8);
        UNROLL for (int p = 0; p < n; p++) {
            __m512i v = _mm512_set1_epi64((long long)x[p]);
            sum[p][0] = _mm512_add_epi64(sum[p][0], _mm512_popcnt_epi64(_mm512_xor_si512(v, a)));
            sum[p][1] = _mm512_add_epi64(sum[p][1], _mm512_popcnt_epi64(_mm512_xor_si512(v, b)));
        }
    }
    UNROLL for (int p = 0; p < n; p++)
        UNROLL for (int h = 0; h < 2; h++) {
            __m256 made = _mm256_cvtepi32_ps(_mm512_cvtepi64_epi32(sum[p][h]));
            sums[p][h] = _mm256_sub_ps(_mm256_loadu_ps(start[p] + h * 8), _mm256_add_ps(made, made));
        }
}

#ifdef SIDE
/* Store 8 pixels of 8 filters, each filter's side by side. */
INLINE void store_lines(__m256 (*sums)[2], int h, float *out) {
    __m256 a[8], b[8];
    for (int i = 0; i < 8; i += 2) {
        a[i] = _mm256_unpacklo_ps(sums[i][h], sums[i + 1][h]);
        a[i + 1] = _mm256_unpackhi_ps(sums[i][h], sums[i + 1][h]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int j = 0; j < 2; j++) {
            b[i + 2 * j] = _mm256_shuffle_ps(a[i + j], a[i + j + 2], 0x44);
            b[i + 2 * j + 1] = _mm256_shuffle_ps(a[i + j], a[i + j + 2], 0xee);
        }
    for (int i = 0; i < 4; i++) {
        _mm256_storeu_ps(out + i * PIXELS, _mm256_permute2f128_ps(b[i], b[i + 4], 0x20));
        _mm256_storeu_ps(out + (i + 4) * PIXELS, _mm256_permute2f128_ps(b[i], b[i + 4], 0x31));
    }
}
#endif

INLINE void tile(size_t first, int n, size_t from, size_t to, float *out) {
    static uint64_t x[RUN * TILE];
    const float *start[TILE];
    for (int p = 0; p < n; p++) start[p] = gather(first + (size_t)p, x + p) + from;
    for (size_t f = from; f < to; f += PAIR) {
        __m256 sums[TILE][2];
        if (n == TILE) multiply_signs(TILE, x, filters + f * RUN, sums, start);
        else
            for (int p = 0; p < n; p++) multiply_signs(1, x + p, filters + f * RUN, sums + p, start + p);
        for (int p = 0; p < n; p++) start[p] += PAIR;
        for (int h = 0; h < 2; h++) {
#ifdef SIDE
            float *at = out + (f + (size_t)h * 8) * PIXELS + first;
            if (n == TILE) store_lines(sums, h, at);
            else
                for (int p = 0; p < n; p++)
                    for (int i = 0; i < 8; i++) at[i * PIXELS + p] = sums[p][h][i];
#else
            for (int p = 0; p < n; p++) _mm256_storeu_ps(out + (first + (size_t)p) * FILTERS + f + (size_t)h * 8, sums[p][h]);
#endif
        }
    }
}

static void forward(int plan, const float *x, float *out) {
    (void)plan;
    pack_signs(x);
    for (size_t from = 0; from < FILTERS; from += GROUP) {
        size_t to = from + GROUP < FILTERS ? from + GROUP : FILTERS, p = 0;
        for (; p + TILE <= PIXELS; p += TILE) tile(p, TILE, from, to, out);
        if (p < PIXELS) tile(p, PIXELS - (int)p, from, to, out);
    }
}
