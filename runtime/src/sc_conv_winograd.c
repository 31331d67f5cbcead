/* sc_conv_winograd.c - 3 x 3 convolutions of stride 1 by minimal filtering, F(2 x 2, 3 x 3) (Lavin and Gray, "Fast Algorithms for
 * Convolutional Neural Networks", 2016): 16 products for four results of a channel, where the definition has 36.
 *
 * Windows of 4 x 4 pixels d, two apart, are transformed to V = B^T d B, and each filter g to U = G g G^T. The sum of V U over the
 * channels, element by element, is M; the four results of a window are A^T M A:
 *
 *     B^T = 1  0 -1  0      G =  1    0    0        A^T = 1  1  1  0
 *           0  1  1  0          1/2  1/2  1/2             0  1 -1 -1
 *           0 -1  1  0          1/2 -1/2  1/2
 *           0  1  0 -1           0    0    1
 *
 * The elements of one position in all windows of a chunk and in all filters are matrices, which the tiles of sc_conv_tile.h
 * multiply.
 *
 * Pixels are subtracted from one another before they are multiplied, so that one infinity would make NaN of all results of its
 * window, and numbers near the largest could overflow. A chunk with results that are not finite is computed again by the
 * definition, with the filters that the transformed ones were made of. */
#include "sc_conv_winograd.h"

#include <math.h>

#include "../include/sc_team.h"
#include "sc_conv_tile.h"
#include "sc_gemm.h"

enum {
    WINDOW = 4,
    POSITIONS = WINDOW * WINDOW,
    WINOGRAD_BYTES = 3 << 17,      /* of the transformed windows of a chunk, in the second cache */
    WINOGRAD_MOST_WINDOWS = 112,   /* of a chunk, whose sums are in the second cache too */
    WINOGRAD_LEAST = PACKED_BLOCK,  /* channels and filters: 1.2 times as fast for 16 of both, 1.9 times for 128 and 32 */
    WINOGRAD_MOST_BYTES = 17 << 20, /* of transformed weights; small images would wait for more */
};

typedef struct winograd_plan {
    const sc_conv *c;
    sc_conv_images in, out, add;       /* of the whole batch; add.data is NULL if there is nothing to add */
    const float *bias, *weights;       /* [filters padded], [POSITIONS][filter_blocks][rows][PACKED_BLOCK] */
    int64_t across, windows, capacity; /* windows of a row, of an image, and of a chunk of images */
    int64_t chunks, blocks, filter_blocks, filter_parts;
    int64_t scratch_floats, transformed_floats; /* of a worker, and of these for transformed windows */
    float *scratch;
    packed_walk walk;
} winograd_plan;

/* ---- weights ---- */

static int64_t winograd_rows(const sc_conv *c) {
    int64_t whole = c->channels / PACKED_BLOCK;
    return whole * PACKED_BLOCK + packed_channels_of_block(c->channels, whole);
}
static int64_t winograd_filter_blocks(const sc_conv *c) { return packed_divide_up(c->filters, PACKED_BLOCK); }

SC_KERNEL bool sc_conv_winograd_pays(const sc_conv *c) {
    return c->kernel[0] == 3 && c->kernel[1] == 3 && c->channels >= WINOGRAD_LEAST && c->filters >= WINOGRAD_LEAST &&
           c->filters * c->channels * POSITIONS * 4 <= WINOGRAD_MOST_BYTES;
}

SC_KERNEL int64_t sc_conv_winograd_floats(const sc_conv *c) {
    return winograd_filter_blocks(c) * PACKED_BLOCK * (1 + POSITIONS * winograd_rows(c));
}

enum { WINOGRAD_FILTERS = SC_VL / 8 }; /* that are transformed side by side, in double */
typedef double winograd_wide __attribute__((vector_size(SC_VL)));
typedef float winograd_narrow __attribute__((vector_size(SC_VL / 2)));

/* Multiply by G three vectors that lie `from_step` apart. */
SC_INLINE void winograd_expand(const winograd_wide *g, int from_step, winograd_wide *to, int to_step) {
    winograd_wide ends = g[0] + g[2 * from_step], middle = g[from_step];
    to[0] = g[0], to[to_step] = (ends + middle) / 2;
    to[2 * to_step] = (ends - middle) / 2, to[3 * to_step] = g[2 * from_step];
}

/* Transform the filters g[9][PACKED_BLOCK] of a block for one channel: to[POSITIONS], `apart` from one another. Return whether all
 * elements are finite. */
static bool winograd_transform_filters(const float *g, float *to, int64_t apart) {
    winograd_narrow zero = {0};
    for (int f = 0; f < PACKED_BLOCK; f += WINOGRAD_FILTERS) {
        winograd_wide wide[9], half[12], u[POSITIONS];
        for (int k = 0; k < 9; k++) {
            winograd_narrow narrow;
            memcpy(&narrow, g + k * PACKED_BLOCK + f, sizeof narrow);
            wide[k] = __builtin_convertvector(narrow, winograd_wide);
        }
#pragma GCC unroll 3
        for (int i = 0; i < 3; i++) winograd_expand(wide + i, 3, half + i, 3); /* G g, 4 x 3 */
#pragma GCC unroll 4
        for (int i = 0; i < WINDOW; i++) winograd_expand(half + 3 * i, 1, u + WINDOW * i, 1);
        for (int i = 0; i < POSITIONS; i++) {
            winograd_narrow narrow = __builtin_convertvector(u[i], winograd_narrow);
            memcpy(to + i * apart + f, &narrow, sizeof narrow);
            zero += narrow * 0;
        }
    }
    bool finite = true;
    for (int l = 0; l < WINOGRAD_FILTERS; l++) finite = finite && zero[l] == 0;
    return finite;
}

/* Copy the filters of a block for n channels, of which so many exist: g[channels][9][PACKED_BLOCK]. Memory is read in the order in
 * which it lies, since lines that are far apart may fall into one set of a cache. */
static void winograd_read_filters(sc_conv_filters weight, int64_t filter, int64_t channel, int64_t n, int64_t there, float *g) {
    if (there < n) memset(g, 0, (size_t)(n * 9 * PACKED_BLOCK) * sizeof *g);
    else there = n;
    const float *first = weight.data + filter * weight.filter + channel * weight.channel;
    bool by_filter = weight.filter > weight.channel;
    int64_t outer = by_filter ? PACKED_BLOCK : there, inner = by_filter ? there : PACKED_BLOCK;
    for (int64_t i = 0; i < outer; i++)
        for (int64_t j = 0; j < inner; j++) {
            int64_t f = by_filter ? i : j, c = by_filter ? j : i;
            const float *from = first + f * weight.filter + c * weight.channel;
            for (int64_t k = 0; k < 9; k++) g[(c * 9 + k) * PACKED_BLOCK + f] = from[k * weight.element];
        }
}

SC_KERNEL bool sc_conv_winograd_pack(const sc_conv *c, sc_conv_filters weight, const float *bias, float *to) {
    int64_t blocks = winograd_filter_blocks(c), rows = winograd_rows(c);
    bool finite = true;
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t i = 0; i < PACKED_BLOCK; i++) *to++ = bias ? bias[packed_first_filter(c->filters, b) + i] : 0;
    float g[PACKED_BLOCK * 9 * PACKED_BLOCK], u[POSITIONS * PACKED_BLOCK * PACKED_BLOCK]; /* of some channels */
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t channel = 0, n; channel < rows; channel += n) {
            n = rows - channel < PACKED_BLOCK ? rows - channel : PACKED_BLOCK;
            winograd_read_filters(weight, packed_first_filter(c->filters, b), channel, n, c->channels - channel, g);
            for (int64_t i = 0; i < n; i++) {
                float *at = u + i * PACKED_BLOCK;
                finite = winograd_transform_filters(g + i * 9 * PACKED_BLOCK, at, PACKED_BLOCK * PACKED_BLOCK) && finite;
            }
            for (int64_t k = 0; k < POSITIONS; k++)
                memcpy(to + ((k * blocks + b) * rows + channel) * PACKED_BLOCK, u + k * PACKED_BLOCK * PACKED_BLOCK,
                       (size_t)(n * PACKED_BLOCK) * sizeof *u);
        }
    return finite;
}

/* ---- windows ---- */

/* Load a vector of channels of a pixel: zeros outside of the image and beyond the last channel. */
SC_INLINE packed_vec winograd_load(const winograd_plan *p, const float *image, int64_t y, int64_t x, int64_t channel) {
    const sc_conv *c = p->c;
    packed_vec v = {0};
    if (y < 0 || y >= c->in[0] || x < 0 || x >= c->in[1]) return v;
    const float *at = image + y * p->in.row + x * p->in.column + channel * p->in.channel;
    if (p->in.channel == 1 && channel + PACKED_LANES <= c->channels) return packed_load(at);
    for (int l = 0; l < PACKED_LANES && channel + l < c->channels; l++) v[l] = at[l * p->in.channel];
    return v;
}

/* Multiply by B^T four vectors that lie `step` apart. */
SC_INLINE void winograd_subtract(packed_vec *d, const int step) {
    packed_vec a = d[0] - d[2 * step], b = d[step] + d[2 * step], e = d[2 * step] - d[step], f = d[step] - d[3 * step];
    d[0] = a, d[step] = b, d[2 * step] = e, d[3 * step] = f;
}

/* Transform a vector of channels of the window at y, x. whole, a constant: all of it is there, its channels side by side. */
SC_INLINE void winograd_transform(const bool whole, const winograd_plan *p, const float *image, int64_t y, int64_t x,
                                  int64_t channel, float *to) {
    packed_vec d[POSITIONS];
    const float *at = image + y * p->in.row + x * p->in.column + channel;
#pragma GCC unroll 16
    for (int i = 0; i < POSITIONS; i++)
        d[i] = whole ? packed_load(at + i / WINDOW * p->in.row + i % WINDOW * p->in.column)
                     : winograd_load(p, image, y + i / WINDOW, x + i % WINDOW, channel);
#pragma GCC unroll 4
    for (int i = 0; i < WINDOW; i++) winograd_subtract(d + i, WINDOW);
#pragma GCC unroll 4
    for (int i = 0; i < WINDOW; i++) winograd_subtract(d + WINDOW * i, 1);
#pragma GCC unroll 16
    for (int i = 0; i < POSITIONS; i++) packed_store(to + i * p->blocks * p->capacity * PACKED_BLOCK, d[i]);
}

/* Transform n windows to [POSITIONS][blocks][capacity][PACKED_BLOCK]. */
static void winograd_transform_windows(const winograd_plan *p, int64_t first, int64_t n, float *to) {
    const sc_conv *c = p->c;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = (first + i) % p->windows, y = at / p->across * 2 - c->padding[0], x = at % p->across * 2 - c->padding[1];
        const float *image = p->in.data + (first + i) / p->windows * p->in.image;
        bool inside = y >= 0 && x >= 0 && y + WINDOW <= c->in[0] && x + WINDOW <= c->in[1] && p->in.channel == 1;
        for (int64_t channel = 0; channel < p->blocks * PACKED_BLOCK; channel += PACKED_LANES) {
            float *at = to + (channel / PACKED_BLOCK * p->capacity + i) * PACKED_BLOCK + channel % PACKED_BLOCK;
            if (inside && channel + PACKED_LANES <= c->channels) winograd_transform(true, p, image, y, x, channel, at);
            else winograd_transform(false, p, image, y, x, channel, at);
        }
    }
}

/* ---- results ---- */

/* Where the results of a vector of filters of a window go; there are `down` by `across` of them. */
typedef struct winograd_place {
    float *out;
    const float *add;
    int64_t down, across;
} winograd_place;

static winograd_place winograd_place_of(const winograd_plan *p, int64_t window, int64_t filter) {
    const sc_conv *c = p->c;
    int64_t image = window / p->windows, at = window % p->windows, y = at / p->across * 2, x = at % p->across * 2;
    const sc_conv_images *o = &p->out, *a = &p->add;
    return (winograd_place){o->data + image * o->image + y * o->row + x * o->column + filter * o->channel,
                            a->data ? a->data + image * a->image + y * a->row + x * a->column + filter * a->channel : NULL,
                            c->out[0] - y < 2 ? 1 : 2, c->out[1] - x < 2 ? 1 : 2};
}

/* Finish and store a vector of results. */
SC_INLINE void winograd_store(const winograd_plan *p, const winograd_place *at, int64_t y, int64_t x, packed_vec result) {
    float *out = at->out + y * p->out.row + x * p->out.column;
    const float *add = at->add ? at->add + y * p->add.row + x * p->add.column : NULL;
    if (add && p->add.channel == 1) result += packed_load(add);
    else if (add)
        for (int l = 0; l < PACKED_LANES; l++) result[l] += add[l * p->add.channel];
    result = packed_clamp(result, p->c->low, p->c->high);
    if (p->out.channel == 1) packed_store(out, result);
    else
        for (int l = 0; l < PACKED_LANES; l++) out[l * p->out.channel] = result[l];
}

/* Compute and store the results of n windows of a block of filters from sums [POSITIONS][capacity][width]. Return whether all are
 * finite. */
static bool winograd_finish(const winograd_plan *p, int64_t first, int64_t n, int64_t block, const float *sums,
                            int64_t width) {
    packed_vec zero = {0};
    for (int64_t i = 0; i < n; i++)
        for (int64_t v = 0; v < PACKED_BLOCK; v += PACKED_LANES) {
            winograd_place at = winograd_place_of(p, first + i, packed_first_filter(p->c->filters, block) + v);
            packed_vec rows[2][WINDOW], bias = packed_load(p->bias + block * PACKED_BLOCK + v);
#pragma GCC unroll 4
            for (int k = 0; k < WINDOW; k++) {
                const float *m = sums + (k * p->capacity + i) * width + v;
                int64_t step = WINDOW * p->capacity * width;
                packed_vec b = packed_load(m + step), d = packed_load(m + 2 * step);
                rows[0][k] = packed_load(m) + b + d, rows[1][k] = b - d - packed_load(m + 3 * step);
            }
            for (int64_t y = 0; y < at.down; y++) {
                packed_vec *r = rows[y], left = r[0] + r[1] + r[2] + bias, right = r[1] - r[2] - r[3] + bias;
                winograd_store(p, &at, y, 0, left);
                if (at.across == 2) winograd_store(p, &at, y, 1, right);
                zero += left * 0 + (at.across == 2 ? right * 0 : left * 0);
            }
        }
    bool finite = true;
    for (int l = 0; l < PACKED_LANES; l++) finite = finite && zero[l] == 0;
    return finite;
}

/* Multiply n transformed windows by the filters of some blocks: sums [POSITIONS][capacity][width of the tile]. */
static void winograd_multiply(const winograd_plan *p, const packed_kind *kind, int64_t n, int64_t block, const float *windows,
                              float *sums) {
    static const float zeros[PACKED_MOST_BLOCKS * PACKED_BLOCK];
    int64_t width = kind->blocks * PACKED_BLOCK, most = kind->blocks * p->walk.panel;
    for (int64_t k = 0; k < POSITIONS; k++) {
        const float *w = p->weights + (k * p->filter_blocks + block) * p->walk.panel;
        const float *next = w + (k < POSITIONS - 1 ? p->filter_blocks * p->walk.panel : 0);
        int64_t asked = 0;
        for (int64_t x = 0; x < n; x += kind->pixels) {
            if (x + kind->pixels > n) x = n - kind->pixels; /* some windows are computed twice */
            packed_target t = {.out = sums + (k * p->capacity + x) * width, .pixel = width, .filter = 1,
                               .last = width - PACKED_BLOCK, .n = PACKED_BLOCK};
            kind->compute(&p->walk, windows + (k * p->blocks * p->capacity + x) * PACKED_BLOCK, zeros, w,
                          asked < most ? next + asked : w, &t);
            asked += most / PACKED_SOON;
        }
    }
}

/* Recover a vector of the filters of a block for a channel: g[9]. */
static void winograd_recover(const winograd_plan *p, int64_t block, int64_t channel, int64_t v, packed_vec *g) {
    packed_vec u[WINDOW][WINDOW], half[3][WINDOW];
    const float *from = p->weights + block * p->walk.panel + channel * PACKED_BLOCK + v;
    for (int64_t k = 0; k < POSITIONS; k++) u[k / WINDOW][k % WINDOW] = packed_load(from + k * p->filter_blocks * p->walk.panel);
    for (int k = 0; k < WINDOW; k++) half[0][k] = u[0][k], half[1][k] = u[1][k] - u[2][k], half[2][k] = u[3][k];
    for (int r = 0; r < 3; r++) g[3 * r] = half[r][0], g[3 * r + 1] = half[r][1] - half[r][2], g[3 * r + 2] = half[r][3];
}

/* Compute the results of n windows of a block of filters by the definition; sums has room for them. */
static void winograd_by_definition(const winograd_plan *p, int64_t first, int64_t n, int64_t block, float *sums) {
    const sc_conv *c = p->c;
    for (int64_t v = 0; v < PACKED_BLOCK; v += PACKED_LANES) {
        packed_vec g[9], bias = packed_load(p->bias + block * PACKED_BLOCK + v);
        for (int64_t i = 0; i < 4 * n; i++) packed_store(sums + i * PACKED_LANES, bias);
        for (int64_t channel = 0; channel < c->channels; channel++) {
            winograd_recover(p, block, channel, v, g);
            for (int64_t i = 0; i < 4 * n; i++) {
                int64_t window = (first + i / 4) % p->windows, y = window / p->across * 2 + i / 2 % 2 - c->padding[0];
                const float *in = p->in.data + (first + i / 4) / p->windows * p->in.image;
                int64_t x = window % p->across * 2 + i % 2 - c->padding[1];
                packed_vec sum = packed_load(sums + i * PACKED_LANES);
                for (int64_t k = 0; k < 9; k++) {
                    int64_t row = y + k / 3, column = x + k % 3;
                    if (row < 0 || row >= c->in[0] || column < 0 || column >= c->in[1]) continue;
                    sum += in[row * p->in.row + column * p->in.column + channel * p->in.channel] * g[k];
                }
                packed_store(sums + i * PACKED_LANES, sum);
            }
        }
        for (int64_t i = 0; i < 4 * n; i++) {
            winograd_place at = winograd_place_of(p, first + i / 4, packed_first_filter(c->filters, block) + v);
            if (i / 2 % 2 < at.down && i % 2 < at.across)
                winograd_store(p, &at, i / 2 % 2, i % 2, packed_load(sums + i * PACKED_LANES));
        }
    }
}

/* Return the first block of filters of a part. The last block, if it shares filters with the one before, is in the same part. */
static int64_t winograd_first_block(const winograd_plan *p, int64_t part) {
    int64_t shared = p->c->filters % PACKED_BLOCK != 0;
    return part == p->filter_parts ? p->filter_blocks : part * (p->filter_blocks - shared) / p->filter_parts;
}

/* Apply the activation to the results of n windows, for the filters of the blocks begin..end-1. */
static void winograd_activate(const winograd_plan *p, int64_t first, int64_t n, int64_t begin, int64_t end) {
    int64_t filter = begin * PACKED_BLOCK, stop = end * PACKED_BLOCK < p->c->filters ? end * PACKED_BLOCK : p->c->filters;
    for (int64_t i = first; i < first + n; i++) {
        winograd_place at = winograd_place_of(p, i, filter);
        for (int64_t y = 0; y < at.down; y++)
            packed_activate(p->c->activation, at.out + y * p->out.row, p->out.column, at.across, stop - filter);
    }
}

static void winograd_part(void *arg, int64_t begin, int64_t end, int worker) {
    const winograd_plan *p = arg;
    float *windows = p->scratch + worker * p->scratch_floats, *sums = windows + p->transformed_floats;
    for (int64_t i = begin; i < end; i++) {
        int64_t part = i % p->filter_parts, first = i / p->filter_parts * p->capacity, left = p->c->images * p->windows - first;
        int64_t n = left < p->capacity ? left : p->capacity;
        int64_t begun = winograd_first_block(p, part), last = winograd_first_block(p, part + 1);
        winograd_transform_windows(p, first, n, windows);
        const packed_kind *kind;
        for (int64_t block = begun; block < last; block += kind->blocks) {
            kind = sc_conv_choose_tile(PACKED_BLOCK, last - block, n);
            winograd_multiply(p, kind, n, block, windows, sums);
            int64_t width = kind->blocks * PACKED_BLOCK;
            bool finite = true;
            for (int64_t b = 0; b < kind->blocks; b++)
                finite = winograd_finish(p, first, n, block + b, sums + b * PACKED_BLOCK, width) && finite;
            for (int64_t b = 0; !finite && b < kind->blocks; b++) winograd_by_definition(p, first, n, block + b, sums);
        }
        if (p->c->activation && p->out.channel == 1) winograd_activate(p, first, n, begun, last);
    }
}

SC_KERNEL int sc_conv_winograd_run(sc_ctx *cx, const sc_conv *c, sc_conv_images in, sc_conv_images out, sc_conv_images add,
                                   const float *packed) {
    int64_t filter_blocks = winograd_filter_blocks(c), rows = winograd_rows(c), blocks = packed_divide_up(rows, PACKED_BLOCK);
    winograd_plan p = {.c = c, .in = in, .out = out, .add = add, .bias = packed, .weights = packed + filter_blocks * PACKED_BLOCK,
                       .blocks = blocks, .filter_blocks = filter_blocks};
    p.across = packed_divide_up(c->out[1], 2), p.windows = packed_divide_up(c->out[0], 2) * p.across;
    int64_t most = WINOGRAD_BYTES / (POSITIONS * PACKED_BLOCK * 4 * blocks) / PACKED_MOST_PIXELS * PACKED_MOST_PIXELS;
    most = most < PACKED_MOST_PIXELS ? PACKED_MOST_PIXELS : most < WINOGRAD_MOST_WINDOWS ? most : WINOGRAD_MOST_WINDOWS;
    /* windows of all images follow one another, so that small images share the weights that come from a cache */
    int64_t all = c->images * p.windows;
    p.chunks = packed_divide_up(all, most), p.capacity = packed_divide_up(all, p.chunks);
    if (p.chunks > 1) p.capacity = packed_divide_up(p.capacity, PACKED_MOST_PIXELS) * PACKED_MOST_PIXELS; /* whole tiles */
    p.chunks = packed_divide_up(all, p.capacity);
    int64_t pieces = p.chunks, workers = sc_workers(cx);
    p.filter_parts = workers == 1 || pieces >= 4 * workers ? 1 : packed_divide_up(4 * workers, pieces);
    if (p.filter_parts > filter_blocks) p.filter_parts = filter_blocks;
    pieces *= p.filter_parts;
    if (workers > pieces) workers = pieces;
    p.transformed_floats = POSITIONS * blocks * p.capacity * PACKED_BLOCK;
    p.scratch_floats = p.transformed_floats + POSITIONS * p.capacity * PACKED_MOST_BLOCKS * PACKED_BLOCK;
    int64_t bytes = workers * p.scratch_floats * 4 + blocks * 8;
    sc_tensor *memory = sc_empty(cx, SC_U8, 1, &bytes);
    if (!memory) return -1;
    p.scratch = memory->data;
    int64_t *offsets = (int64_t *)(void *)(p.scratch + workers * p.scratch_floats);
    for (int64_t b = 0; b < blocks; b++) offsets[b] = b * p.capacity * PACKED_BLOCK;
    int64_t rest = packed_channels_of_block(c->channels, c->channels / PACKED_BLOCK);
    p.walk = (packed_walk){.offset = offsets, .terms = blocks, .whole = c->channels / PACKED_BLOCK, .rest = rest,
                           .run = PACKED_RUN / PACKED_BLOCK, .panel = rows * PACKED_BLOCK, .low = -INFINITY, .high = INFINITY};
    double ns = gemm_ns(c->filters, c->images * p.windows * POSITIONS, c->channels, 4);
    sc_parallel(cx, pieces, 1, ns, winograd_part, &p);
    sc_release(cx, memory);
    return 0;
}
