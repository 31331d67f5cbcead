/* sc_conv_tile.c - tiles of sums: some pixels by some blocks of filters, which stay in registers while all terms are added. */
#include "sc_conv_tile.h"

enum { PACKED_MANY_COLUMNS = 1 << 20 /* tiles are chosen for as many, if there are more */ };

/* Finish and store the sums of `n` filters of a block where they are not whole vectors side by side. */
static void packed_store_apart(int64_t px, int64_t n, const float *sums, const packed_target *t, float low, float high) {
    for (int64_t f = 0; f < n; f++)
        for (int64_t p = 0; p < px; p++) {
            float x = sums[p * PACKED_BLOCK + f];
            if (t->add) x += t->add[p * t->add_pixel + f * t->add_filter];
            t->out[p * t->pixel + f * t->filter] = x < low ? low : x > high ? high : x;
        }
}

typedef packed_vec packed_sums[PACKED_NV][PACKED_MOST_PIXELS];

/* Add the sums of earlier runs of terms, which lie in memory, to those of this run. GCC must not know where they lie: it would hold
 * them in registers, too, which are too few. */
SC_INLINE void packed_add_earlier(const int fb, const int px, packed_sums *acc, float *earlier) {
    __asm__("" : "+r"(earlier) : : "memory");
#pragma GCC unroll 4
    for (int f = 0; f < fb; f++)
#pragma GCC unroll 4
        for (int v = 0; v < PACKED_NV; v++)
#pragma GCC unroll 14
            for (int p = 0; p < px; p++) acc[f][v][p] += packed_load(earlier + ((f * PACKED_NV + v) * px + p) * PACKED_LANES);
}

/* Put sums into memory, and begin anew. */
SC_INLINE void packed_put_aside(const int fb, const int px, packed_sums *acc, float *to) {
    __asm__("" : "+r"(to) : : "memory");
#pragma GCC unroll 4
    for (int f = 0; f < fb; f++)
#pragma GCC unroll 4
        for (int v = 0; v < PACKED_NV; v++)
#pragma GCC unroll 14
            for (int p = 0; p < px; p++) {
                packed_store(to + ((f * PACKED_NV + v) * px + p) * PACKED_LANES, acc[f][v][p]);
                acc[f][v][p] = (packed_vec){0};
            }
}

/* Add what lies in memory, with filters side by side, to sums. The last block's filters begin at `last`. */
SC_INLINE void packed_add_pixels(const int fb, const int px, packed_sums *acc, const float *from, int64_t pixel, int64_t last) {
#pragma GCC unroll 14
    for (int p = 0; p < px; p++, from += pixel)
#pragma GCC unroll 4
        for (int f = 0; f < fb; f++)
#pragma GCC unroll 4
            for (int v = 0; v < PACKED_NV; v++)
                acc[f][v][p] += packed_load(from + (f < fb - 1 ? f * PACKED_BLOCK : last) + v * PACKED_LANES);
}

/* Bound and store sums, whose filters become side by side. */
SC_INLINE void packed_store_pixels(const int fb, const int px, packed_sums *acc, float low, float high, float *to, int64_t pixel,
                                   int64_t last) {
#pragma GCC unroll 14
    for (int p = 0; p < px; p++, to += pixel)
#pragma GCC unroll 4
        for (int f = 0; f < fb; f++)
#pragma GCC unroll 4
            for (int v = 0; v < PACKED_NV; v++)
                packed_store(to + (f < fb - 1 ? f * PACKED_BLOCK : last) + v * PACKED_LANES, packed_clamp(acc[f][v][p], low, high));
}

/* Compute fb blocks of px pixels. The block of channels, fb and px are constants. soon: weights that are asked for early. Loops
 * over sums are unrolled here: GCC unrolls them after it has decided which variables lie in memory. */
SC_INLINE void packed_tile(const int block, const int fb, const int px, const packed_walk *k, const float *x, const float *bias,
                           const float *w, const float *soon, const packed_target *t) {
    for (int p = 0; p < px && t->filter == 1; p++)
        for (int f = 0; f < fb; f++) { /* they come while terms are added */
            __builtin_prefetch(t->out + p * t->pixel + f * PACKED_BLOCK, 1);
            if (t->add) __builtin_prefetch(t->add + p * t->add_pixel + f * PACKED_BLOCK);
        }
    packed_sums acc[PACKED_MOST_BLOCKS];
#pragma GCC unroll 4
    for (int f = 0; f < fb; f++)
#pragma GCC unroll 4
        for (int v = 0; v < PACKED_NV; v++)
#pragma GCC unroll 14
            for (int p = 0; p < px; p++) acc[f][v][p] = packed_load(bias + f * PACKED_BLOCK + v * PACKED_LANES);
    const int steps = block == 1 ? 1 : PACKED_UNROLL;
    float aside[PACKED_MOST_BLOCKS * PACKED_BLOCK * PACKED_MOST_PIXELS]; /* the sums of all runs of terms but the last */
    for (int64_t i = 0, stop; i < k->terms; i = stop) {
        if (i > k->run) packed_add_earlier(fb, px, acc, aside);
        if (i > 0) packed_put_aside(fb, px, acc, aside);
        stop = k->terms - i < k->run ? k->terms : i + k->run;
        for (int64_t j = i; j < stop; j++) {
            const float *at = x + k->offset[j];
            const int64_t count = block == 1 ? 1 : j < k->whole ? PACKED_BLOCK : k->rest;
            const int64_t apart = block == PACKED_IN_PLACE ? k->pixel : block;
            const float *of_three[(PACKED_MOST_PIXELS + 2) / 3]; /* x86 reaches the two pixels after one by its pointer */
#pragma GCC unroll 5
            for (int i = 0; i < (px + 2) / 3; i++) of_three[i] = at + 3 * i * apart;
            for (const float *end = at + count; of_three[0] != end; w += steps * PACKED_BLOCK, soon += fb * PACKED_BLOCK) {
                for (int f = 0; f < fb; f++) __builtin_prefetch(soon + f * PACKED_BLOCK, 0, 2);
#pragma GCC unroll 4
                for (int u = 0; u < steps; u++) {
                    packed_vec wv[PACKED_MOST_BLOCKS][PACKED_NV];
#pragma GCC unroll 4
                    for (int f = 0; f < fb; f++) {
                        const float *of_block = w + f * k->panel + u * PACKED_BLOCK;
                        for (int v = 0; v < PACKED_NV; v++) wv[f][v] = packed_load_once(of_block + v * PACKED_LANES);
                    }
#pragma GCC unroll 14
                    for (int p = 0; p < px; p++) {
                        packed_vec s = packed_load_one(of_three[p / 3] + p % 3 * apart + u);
#pragma GCC unroll 4
                        for (int f = 0; f < fb; f++)
                            for (int v = 0; v < PACKED_NV; v++) acc[f][v][p] += s * wv[f][v];
                    }
                }
#pragma GCC unroll 5
                for (int i = 0; i < (px + 2) / 3; i++) of_three[i] += steps;
            }
        }
    }
    if (k->terms > k->run) packed_add_earlier(fb, px, acc, aside);
    if (t->filter == 1 && t->n == PACKED_BLOCK && (!t->add || t->add_filter == 1)) {
        if (t->add) packed_add_pixels(fb, px, acc, t->add, t->add_pixel, t->last);
        packed_store_pixels(fb, px, acc, k->low, k->high, t->out, t->pixel, t->last);
        return;
    }
    float sums[PACKED_MOST_PIXELS * PACKED_BLOCK];
#pragma GCC unroll 4
    for (int f = 0; f < fb; f++) {
#pragma GCC unroll 14
        for (int p = 0; p < px; p++)
#pragma GCC unroll 4
            for (int v = 0; v < PACKED_NV; v++) packed_store(sums + p * PACKED_BLOCK + v * PACKED_LANES, acc[f][v][p]);
        packed_target part = *t;
        int64_t first = f < fb - 1 ? f * PACKED_BLOCK : t->last;
        part.out += first * t->filter;
        if (t->add) part.add += first * t->add_filter;
        packed_store_apart(px, f < fb - 1 ? PACKED_BLOCK : t->n, sums, &part, k->low, k->high);
    }
}

#define PACKED_TILE_OF(block, fb, px) \
    static void packed_tile_##block##_##fb##_##px(const packed_walk *k, const float *x, const float *bias, const float *w, \
                                                  const float *soon, const packed_target *t) { \
        packed_tile(block, fb, px, k, x, bias, w, soon, t); \
    }
/* The tiles, those of PACKED_IN_PLACE as block 0; of two that cost the same the later one is taken. Smaller ones, which overlap,
 * do for those that are missing. */
#if SC_VL == 64
#define PACKED_FEW(X, block, fb) X(block, fb, 1) X(block, fb, 2) X(block, fb, 4) X(block, fb, 6)
#define PACKED_MORE(X, block, fb) PACKED_FEW(X, block, fb) X(block, fb, 14)
#define PACKED_ALL(X, block, fb) \
    X(block, fb, 1) X(block, fb, 2) X(block, fb, 3) X(block, fb, 4) X(block, fb, 5) X(block, fb, 6) X(block, fb, 7) \
    X(block, fb, 8) X(block, fb, 10) X(block, fb, 12) X(block, fb, 14)
#define PACKED_BLOCKS(X, block) \
    PACKED_FEW(X, block, 4) X(block, 4, 3) X(block, 4, 5) PACKED_ALL(X, block, 1) PACKED_ALL(X, block, 2)
#define PACKED_TILES(X) PACKED_BLOCKS(X, 16) PACKED_BLOCKS(X, 0) PACKED_MORE(X, 1, 1) PACKED_MORE(X, 1, 2)
#elif SC_VL == 32
#define PACKED_BLOCKS(X, block) X(block, 1, 1) X(block, 1, 2) X(block, 1, 3) X(block, 1, 4) X(block, 1, 5) X(block, 1, 6)
#define PACKED_TILES(X) PACKED_BLOCKS(X, 16) PACKED_BLOCKS(X, 0) X(1, 1, 1) X(1, 1, 4) X(1, 1, 6)
#else
#define PACKED_TILES(X) X(16, 1, 1) X(16, 1, 2) X(0, 1, 1) X(0, 1, 2) X(1, 1, 1) X(1, 1, 2)
#endif
PACKED_TILES(PACKED_TILE_OF)

#define PACKED_KIND_OF(block, fb, px) {block, fb, px, packed_tile_##block##_##fb##_##px},
static const packed_kind packed_kinds[] = {PACKED_TILES(PACKED_KIND_OF)};

/* Estimate the time of a term of a row of so many columns: a multiply-add and the load of a vector take 1, and run side by
 * side; a sum can be added to again after 8. Numbers are small: dividing 64 bits takes twice as long. */
SC_INLINE uint32_t packed_row_time(const packed_kind *t, uint32_t columns) {
    int sums = t->blocks * t->pixels * PACKED_NV, loads = t->blocks * PACKED_NV + t->pixels;
    int busy = sums > loads ? sums : loads;
    return (columns + (uint32_t)t->pixels - 1) / (uint32_t)t->pixels * (uint32_t)(busy > 8 ? busy : 8);
}

SC_KERNEL const packed_kind *sc_conv_choose_tile(int64_t block, int64_t blocks, int64_t columns) {
    const packed_kind *best = NULL;
    uint64_t least = 0; /* the time of the best */
    uint32_t some = columns < PACKED_MANY_COLUMNS ? (uint32_t)columns : PACKED_MANY_COLUMNS;
    for (const packed_kind *t = packed_kinds; t < packed_kinds + sizeof packed_kinds / sizeof *packed_kinds; t++) {
        if (t->block != block || t->blocks > blocks || t->pixels > columns) continue;
        uint64_t time = packed_row_time(t, some);
        if (!best || time * (uint64_t)best->blocks <= least * (uint64_t)t->blocks) best = t, least = time;
    }
    return best;
}
