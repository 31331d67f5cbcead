/* sc_conv_tile.h - tiles of sums (sc_conv_tile.c), for all convolutions with packed weights. */
#ifndef SC_CONV_TILE_H
#define SC_CONV_TILE_H
#include "../include/sc_vector.h"
#include "sc_conv_packed.h"

#define PACKED_LANES (SC_VL / 4)

enum {
    PACKED_BLOCK = 16,                       /* filters, and channels, of a block on every level */
    PACKED_HALF = SC_VL >= 32 ? 8 : 0,       /* filters of a half block, if there are any */
    PACKED_NV = PACKED_BLOCK / PACKED_LANES, /* vectors of a block */
    PACKED_MOST_BLOCKS = SC_VL == 64 ? 4 : 1,
    PACKED_MOST_PIXELS = SC_VL == 64 ? 14 : SC_VL == 32 ? 6 : 2, /* of a tile */
    PACKED_UNROLL = 4,                 /* channels of an iteration; blocks are filled up to a multiple */
    PACKED_RUN = 512,                  /* channels of the terms of a run */
    PACKED_SOON = 4,                   /* tiles that ask for the next panels */
    PACKED_IN_PLACE = 0,               /* stands for the block of tiles that read an image which was not copied */
};

#define N(name) packed_##name
#define VECTOR_BYTES SC_VL
#include "sc_conv_vector.inc"
#undef VECTOR_BYTES
#undef N

static inline int64_t packed_divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t packed_floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0); }

static inline int64_t packed_block_of(int64_t channels) { return channels < PACKED_BLOCK ? 1 : PACKED_BLOCK; }

/* Return the channels that block i has in a panel: 0 where there is none. */
static inline int64_t packed_channels_of_block(int64_t channels, int64_t i) {
    int64_t block = packed_block_of(channels), left = channels - i * block;
    if (left >= block) return block;
    return left > 0 ? packed_divide_up(left, PACKED_UNROLL) * PACKED_UNROLL : 0;
}
/* Return the first filter of a block. The last block is whole where there are enough filters, so that it shares some with the one
 * before. */
static inline int64_t packed_first_filter(int64_t filters, int64_t block) {
    int64_t first = block * PACKED_BLOCK;
    return first + PACKED_BLOCK <= filters || filters < PACKED_BLOCK ? first : filters - PACKED_BLOCK;
}

/* What all tiles of a chunk share. offset: of each term, from a pixel on. The first `whole` terms have as many channels as a block,
 * the others `rest`. run: terms whose sums are added up before they are added to others. panel: floats of the weights of a
 * block. pixel: floats from a pixel to the next where an image is read in place. */
typedef struct packed_walk {
    const int64_t *offset;
    int64_t terms, whole, rest, run, panel, pixel;
    float low, high;
} packed_walk;

/* Where a tile's results go: pixel p of filter f is at p * pixel + f * filter. The last block has `n` filters from the filter
 * `last` on. add: NULL, or what is added, with strides of its own. */
typedef struct packed_target {
    float *out;
    const float *add;
    int64_t pixel, filter, add_pixel, add_filter, last, n;
} packed_target;

typedef void packed_tile_of(const packed_walk *k, const float *x, const float *bias, const float *w, const float *soon,
                            const packed_target *t);
typedef struct packed_kind { int block, blocks, pixels; packed_tile_of *compute; } packed_kind;

/* Return the kind of tile, of at most so many blocks and no more pixels than columns, that is cheapest for each block. block:
 * the channels of a block, or PACKED_IN_PLACE. blocks: 0 for a half block, which counts as one. */
SC_KERNEL const packed_kind *sc_conv_choose_tile(int64_t block, int64_t blocks, int64_t columns);

#endif
