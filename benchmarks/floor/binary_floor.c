/* binary_floor.c - products of signs by hand, with AVX-512 VPOPCNTDQ: a linear [ROWS, TERMS] by [FILTERS, TERMS], or, with SIDE, a
 * 3 x 3 convolution of one image [TERMS, SIDE, SIDE] with padding of 1. x: floats, whose signs are packed in each call. Sizes are
 * multiples of tiles, and no element is 0. */
#include <immintrin.h>

#include "floor.h"

#define UNROLL _Pragma("GCC unroll 8")
enum { WORDS = TERMS / 64, TILE = 8 };
#ifdef SIDE
enum { WIDE = SIDE + 2, PIXELS = SIDE * SIDE, TAPS = 9, PADDED = WIDE * WIDE };
#else
enum { PIXELS = ROWS_OF_X, TAPS = 1, PADDED = ROWS_OF_X };
#endif
static uint64_t *filters, *signs;
static float bias[FILTERS][TAPS]; /* bits of a filter's tap, which pixels of the padding count as differences */

void prepare(const float *const *weights) {
    filters = aligned_alloc(64, (size_t)FILTERS * TAPS * WORDS * 8), signs = aligned_alloc(64, (size_t)PADDED * WORDS * 8 + 64);
    if (!filters || !signs) abort();
    memset(filters, 0, (size_t)FILTERS * TAPS * WORDS * 8), memset(signs, 0, (size_t)PADDED * WORDS * 8);
    for (size_t f = 0; f < FILTERS; f++)
        for (size_t c = 0; c < TERMS; c++)
            for (size_t t = 0; t < TAPS; t++) {
                uint64_t bit = !(weights[0][(f * TERMS + c) * TAPS + t] > 0);
                filters[((f / 8 * TAPS + t) * WORDS + c / 64) * 8 + f % 8] |= bit << c % 64;
                bias[f][t] += (float)bit;
            }
}

static void pack_signs(const float *x) {
#ifdef SIDE
    for (size_t w = 0; w < WORDS; w++) {
        static uint32_t half[2][PIXELS];
        memset(half, 0, sizeof half);
        for (size_t c = 0; c < 64; c++)
            for (size_t p = 0; p < PIXELS; p++) half[c / 32][p] |= !(x[(w * 64 + c) * PIXELS + p] > 0) ? 1u << c % 32 : 0;
        for (size_t p = 0; p < PIXELS; p++)
            signs[((p / SIDE + 1) * WIDE + p % SIDE + 1) * WORDS + w] = half[0][p] | (uint64_t)half[1][p] << 32;
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

INLINE const uint64_t *pixel(size_t p, size_t tap) {
#ifdef SIDE
    return signs + ((p / SIDE + tap / 3) * WIDE + p % SIDE + tap % 3) * WORDS;
#else
    return signs + (p + tap) * WORDS;
#endif
}

INLINE void tile(size_t first, int n, size_t block, float *out) {
    __m512i sum[TILE][2];
    const uint64_t *w = filters + block * TAPS * WORDS * 8;
    UNROLL for (int p = 0; p < n; p++) sum[p][0] = sum[p][1] = _mm512_setzero_si512();
    for (size_t t = 0; t < TAPS; t++) {
        const uint64_t *x[TILE];
        UNROLL for (int p = 0; p < n; p++) x[p] = pixel(first + (size_t)p, t);
        for (size_t k = 0; k < WORDS; k++, w += 8) {
            __m512i a = _mm512_load_si512(w), b = _mm512_load_si512(w + TAPS * WORDS * 8);
            UNROLL for (int p = 0; p < n; p++) {
                __m512i v = _mm512_set1_epi64((long long)x[p][k]);
                sum[p][0] = _mm512_add_epi64(sum[p][0], _mm512_popcnt_epi64(_mm512_xor_si512(v, a)));
                sum[p][1] = _mm512_add_epi64(sum[p][1], _mm512_popcnt_epi64(_mm512_xor_si512(v, b)));
            }
        }
    }
    UNROLL for (int p = 0; p < n; p++)
        UNROLL for (int h = 0; h < 2; h++) {
            __m256 made = _mm256_cvtepi32_ps(_mm512_cvtepi64_epi32(sum[p][h]));
            made = _mm256_sub_ps(_mm256_set1_ps(TERMS * TAPS), _mm256_add_ps(made, made));
#ifdef SIDE
            float lane[8];
            _mm256_storeu_ps(lane, made);
            for (int i = 0; i < 8; i++) out[(block * 8 + (size_t)(h * 8 + i)) * PIXELS + first + (size_t)p] = lane[i];
#else
            _mm256_storeu_ps(out + (first + (size_t)p) * FILTERS + (block + (size_t)h) * 8, made);
#endif
        }
}

static void forward(int plan, const float *x, float *out) {
    (void)plan;
    pack_signs(x);
    for (size_t block = 0; block < FILTERS / 8; block += 2) {
        size_t p = 0;
        for (; p + TILE <= PIXELS; p += TILE) tile(p, TILE, block, out);
        for (; p < PIXELS; p++) tile(p, 1, block, out);
    }
#ifdef SIDE /* a pixel of the padding has counted as 1: take its products back */
    for (size_t f = 0; f < FILTERS; f++)
        for (size_t y = 0; y < SIDE; y++)
            for (size_t z = 0; z < SIDE; z++) {
                if (y > 0 && y < SIDE - 1 && z > 0 && z < SIDE - 1) continue;
                for (size_t t = 0; t < TAPS; t++) {
                    size_t row = y + t / 3, column = z + t % 3;
                    if (row == 0 || row == WIDE - 1 || column == 0 || column == WIDE - 1)
                        out[(f * SIDE + y) * SIDE + z] -= TERMS - 2 * bias[f][t];
                }
            }
#endif
}
