/* sc_conv_tile.c - the tiles of sums: whole blocks of filters, and half blocks for the last filters. */
#include "sc_conv_tile.h"

enum { PACKED_MANY_COLUMNS = 1 << 20 /* tiles are chosen for as many, if there are more */ };

#define N(name) packed_##name
#define WIDTH PACKED_BLOCK
#define MOST_PIXELS PACKED_MOST_PIXELS
#define VECTOR_BYTES SC_VL
#include "sc_conv_tile.inc"
#undef VECTOR_BYTES
#undef MOST_PIXELS
#undef WIDTH
#undef N

#if SC_VL >= 32
#define N(name) packed_half_##name
#define WIDTH PACKED_HALF
#define MOST_PIXELS (SC_VL == 64 ? 14 : 12)
#define VECTOR_BYTES 32
#include "sc_conv_vector.inc"
#include "sc_conv_tile.inc"
#undef VECTOR_BYTES
#undef MOST_PIXELS
#undef WIDTH
#undef N
#endif

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

#if SC_VL >= 32
#define PACKED_HALF_OF(block, px) \
    static void packed_half_##block##_##px(const packed_walk *k, const float *x, const float *bias, const float *w, \
                                           const float *soon, const packed_target *t) { \
        packed_half_tile(block, 1, px, k, x, bias, w, soon, t); \
    }
#define PACKED_HALF_TILES(X) PACKED_HALF_BLOCKS(X, 16) PACKED_HALF_BLOCKS(X, 0) PACKED_HALF_BLOCKS(X, 1)
#if SC_VL == 64
#define PACKED_HALF_BLOCKS(X, block) \
    X(block, 1) X(block, 2) X(block, 3) X(block, 4) X(block, 6) X(block, 7) X(block, 8) X(block, 10) X(block, 12) X(block, 14)
#else
#define PACKED_HALF_BLOCKS(X, block) \
    X(block, 1) X(block, 2) X(block, 4) X(block, 6) X(block, 7) X(block, 8) X(block, 10) X(block, 12)
#endif
PACKED_HALF_TILES(PACKED_HALF_OF)
#define PACKED_HALF_KIND_OF(block, px) {block, 1, px, packed_half_##block##_##px},
static const packed_kind packed_half_kinds[] = {PACKED_HALF_TILES(PACKED_HALF_KIND_OF)};
#endif

/* Estimate the time of a term of a row of so many columns: a multiply-add and the load of a vector take 1, and run side by
 * side; a sum can be added to again after 8. Numbers are small: dividing 64 bits takes twice as long. */
SC_INLINE uint32_t packed_row_time(const packed_kind *t, int nv, uint32_t columns) {
    int sums = t->blocks * t->pixels * nv, loads = t->blocks * nv + t->pixels;
    int busy = sums > loads ? sums : loads;
    return (columns + (uint32_t)t->pixels - 1) / (uint32_t)t->pixels * (uint32_t)(busy > 8 ? busy : 8);
}

SC_INLINE const packed_kind *packed_choose(const packed_kind *kinds, size_t n, int nv, int64_t block, int64_t blocks,
                                           int64_t columns) {
    const packed_kind *best = NULL;
    uint64_t least = 0; /* the time of the best */
    uint32_t some = columns < PACKED_MANY_COLUMNS ? (uint32_t)columns : PACKED_MANY_COLUMNS;
    for (const packed_kind *t = kinds; t < kinds + n; t++) {
        if (t->block != block || t->blocks > blocks || t->pixels > columns) continue;
        uint64_t time = packed_row_time(t, nv, some);
        if (!best || time * (uint64_t)best->blocks <= least * (uint64_t)t->blocks) best = t, least = time;
    }
    return best;
}

SC_KERNEL const packed_kind *sc_conv_choose_tile(int64_t block, int64_t blocks, int64_t columns) {
#if SC_VL >= 32
    const size_t halves = sizeof packed_half_kinds / sizeof *packed_half_kinds;
    if (!blocks) return packed_choose(packed_half_kinds, halves, 1, block, 1, columns);
#endif
    return packed_choose(packed_kinds, sizeof packed_kinds / sizeof *packed_kinds, PACKED_NV, block, blocks, columns);
}
