/* sc_conv_depthwise.c - convolutions of channels-last float images, each channel by itself, with packed weights. Results of
 * neighboring pixels, for a vector of channels, stay in registers while all terms are added. The image is not copied. */
#include "../include/sc_team.h"
#include "sc_conv_packed.h"
#include "sc_conv_tile.h"
#include "sc_gemm.h"
#include "sc_image.h"

enum {
    DEPTHWISE_PIXELS = 8,  /* of a tile, at most */
    DEPTHWISE_VECTORS = 4, /* of channels of a tile, at most */
    DEPTHWISE_WIDTH = 5,   /* of the widest kernel whose pixels are loaded once */
};
typedef packed_vec depthwise_sums[DEPTHWISE_PIXELS][DEPTHWISE_VECTORS];

/* Some neighboring results: the elements of the kernel that lie inside of the image, rows for all results and columns for the
 * first one; the columns of pixels that lie inside, from the first one's window on; and where that window, the result and what is
 * added to it begin. */
typedef struct depthwise_place {
    int64_t rows[2], columns[2], inside[2];
    const float *from, *add;
    float *to;
} depthwise_place;

typedef struct depthwise_plan depthwise_plan;
typedef void depthwise_pixels_of(const depthwise_plan *p, const depthwise_place *at);
struct depthwise_plan {
    const sc_conv *c;
    sc_conv_images in, out, add;
    const float *packed, *weights;   /* a bias for each filter, and [elements of the kernel][filters] */
    depthwise_pixels_of *eight, *four;
    bool any_place;                  /* these compute windows that lie partly outside of the image, too */
};

/* Add the terms of all elements of the kernel that lie inside, one by one. px and nv are constants. */
SC_INLINE void depthwise_add(const int px, const int nv, const depthwise_plan *p, const depthwise_place *at, int64_t channel,
                             depthwise_sums acc) {
    const sc_conv *c = p->c;
    int64_t apart = c->stride[1] * p->in.column;
    for (int64_t k = at->rows[0]; k < at->rows[1]; k++) {
        const float *x = at->from + k * c->dilation[0] * p->in.row + at->columns[0] * c->dilation[1] * p->in.column + channel;
        const float *weights = p->weights + (k * c->kernel[1] + at->columns[0]) * c->filters + channel;
        for (int64_t l = at->columns[0]; l < at->columns[1]; l++, x += c->dilation[1] * p->in.column, weights += c->filters)
#pragma GCC unroll 4
            for (int v = 0; v < nv; v++) {
                packed_vec weight = packed_load(weights + v * PACKED_LANES);
#pragma GCC unroll 8
                for (int i = 0; i < px; i++) acc[i][v] += packed_load(x + i * apart + v * PACKED_LANES) * weight;
            }
    }
}

/* Add the terms of the rows of a kernel of `width` columns to sums whose windows overlap: each pixel is loaded once. px, width and
 * stride are constants. */
SC_INLINE void depthwise_add_rows(const int px, const int width, const int stride, const depthwise_plan *p,
                                  const depthwise_place *at, int64_t channel, depthwise_sums acc) {
    const sc_conv *c = p->c;
    for (int64_t k = at->rows[0]; k < at->rows[1]; k++) {
        const float *x = at->from + k * c->dilation[0] * p->in.row + channel;
        const float *weights = p->weights + k * width * c->filters + channel;
        packed_vec weight[DEPTHWISE_WIDTH];
#pragma GCC unroll 8
        for (int l = 0; l < width; l++) weight[l] = packed_load(weights + l * c->filters);
#pragma GCC unroll 24
        for (int j = 0; j < (px - 1) * stride + width; j++, x += p->in.column) {
            if (j < at->inside[0] || j >= at->inside[1]) continue;
            packed_vec pixel = packed_load_once(x);
#pragma GCC unroll 8
            for (int l = 0; l < width; l++)
                if (j >= l && (j - l) % stride == 0 && (j - l) / stride < px) acc[(j - l) / stride][0] += pixel * weight[l];
        }
    }
}

/* Compute px results of nv vectors of channels. px, nv and width are constants. width: of the kernel, or 0 for any. */
SC_INLINE void depthwise_tile(const int px, const int nv, const int width, const int stride, const depthwise_plan *p,
                              const depthwise_place *at, int64_t channel) {
    depthwise_sums acc;
#pragma GCC unroll 8
    for (int i = 0; i < px; i++)
#pragma GCC unroll 4
        for (int v = 0; v < nv; v++) acc[i][v] = packed_load(p->packed + channel + v * PACKED_LANES);
    if (width == 0) depthwise_add(px, nv, p, at, channel, acc);
    else depthwise_add_rows(px, width, stride, p, at, channel, acc);
    const float low = p->c->low, high = p->c->high, *add = at->add; /* stores would make them be loaded again */
    const int64_t out_column = p->out.column, add_column = p->add.column;
    if (add)
#pragma GCC unroll 8
        for (int i = 0; i < px; i++)
#pragma GCC unroll 4
            for (int v = 0; v < nv; v++) acc[i][v] += packed_load(add + i * add_column + channel + v * PACKED_LANES);
    float *to = at->to + channel;
#pragma GCC unroll 8
    for (int i = 0; i < px; i++, to += out_column)
#pragma GCC unroll 4
        for (int v = 0; v < nv; v++) packed_store(to + v * PACKED_LANES, packed_clamp(acc[i][v], low, high));
}

/* Compute px results of all channels, which lie side by side in memory: by columns of one vector, each line would be asked for
 * when it is needed. The last vectors overlap those before. */
SC_INLINE void depthwise_pixels(const int px, const int nv, const int width, const int stride, const depthwise_plan *p,
                                const depthwise_place *at) {
    int64_t filters = p->c->filters, f = 0;
    for (; f + nv * PACKED_LANES <= filters; f += nv * PACKED_LANES) depthwise_tile(px, nv, width, stride, p, at, f);
    for (; f < filters; f += PACKED_LANES)
        depthwise_tile(px, 1, width, stride, p, at, f + PACKED_LANES <= filters ? f : filters - PACKED_LANES);
}

#define DEPTHWISE_PIXELS_OF(px, nv, width, stride) \
    static void depthwise_##px##_##width##_##stride(const depthwise_plan *p, const depthwise_place *at) { \
        depthwise_pixels(px, nv, width, stride, p, at); \
    }
#define DEPTHWISE_KINDS(X, width, stride) X(8, 1, width, stride) X(4, 1, width, stride)
DEPTHWISE_KINDS(DEPTHWISE_PIXELS_OF, 3, 1)
DEPTHWISE_KINDS(DEPTHWISE_PIXELS_OF, 3, 2)
DEPTHWISE_KINDS(DEPTHWISE_PIXELS_OF, 5, 1)
DEPTHWISE_KINDS(DEPTHWISE_PIXELS_OF, 5, 2)
DEPTHWISE_KINDS(DEPTHWISE_PIXELS_OF, 0, 0)
DEPTHWISE_PIXELS_OF(2, 2, 0, 0)
DEPTHWISE_PIXELS_OF(1, 4, 0, 0)

/* Choose the functions that compute 8 and 4 pixels. */
static void depthwise_choose(depthwise_plan *p) {
    const sc_conv *c = p->c;
    p->eight = depthwise_8_0_0, p->four = depthwise_4_0_0, p->any_place = false;
#define DEPTHWISE_IS(width, stride_) \
    if (c->kernel[1] == width && c->stride[1] == stride_ && c->dilation[1] == 1) \
        p->eight = depthwise_8_##width##_##stride_, p->four = depthwise_4_##width##_##stride_, p->any_place = true
    DEPTHWISE_IS(3, 1);
    DEPTHWISE_IS(3, 2);
    DEPTHWISE_IS(5, 1);
    DEPTHWISE_IS(5, 2);
}

/* Return how many pixels are computed next, from column *x on, which may move back: then some are computed twice. */
static int64_t depthwise_next(const depthwise_plan *p, int64_t *x) {
    const sc_conv *c = p->c;
    int64_t left = c->out[1] - *x;
    if (p->any_place && c->out[1] >= 4) {
        int64_t px = left > 4 && c->out[1] >= 8 ? 8 : 4;
        if (px > left) *x = c->out[1] - px;
        return px;
    }
    int64_t first = packed_divide_up(c->padding[1], c->stride[1]); /* of the columns whose windows lie inside */
    int64_t span = (c->kernel[1] - 1) * c->dilation[1];
    int64_t end = packed_floor_divide(c->in[1] - 1 + c->padding[1] - span, c->stride[1]) + 1, whole = *x >= first ? end - *x : 0;
    return whole >= 8 ? 8 : whole >= 4 ? 4 : whole >= 2 ? 2 : 1;
}

static void depthwise_row(const depthwise_plan *p, int64_t image, int64_t y) {
    const sc_conv *c = p->c;
    int64_t top = y * c->stride[0] - c->padding[0];
    depthwise_place at;
    image_valid(c->in[0], c->kernel[0], c->dilation[0], top, &at.rows[0], &at.rows[1]);
    for (int64_t x = 0, px; x < c->out[1]; x += px) {
        px = depthwise_next(p, &x);
        int64_t left = x * c->stride[1] - c->padding[1];
        image_valid(c->in[1], c->kernel[1], c->dilation[1], left, &at.columns[0], &at.columns[1]);
        at.inside[0] = -left, at.inside[1] = c->in[1] - left;
        at.from = p->in.data + image * p->in.image + top * p->in.row + left * p->in.column;
        at.to = packed_at(&p->out, image, y, x, 0), at.add = packed_at(&p->add, image, y, x, 0);
        (px == 8 ? p->eight : px == 4 ? p->four : px == 2 ? depthwise_2_0_0 : depthwise_1_0_0)(p, &at);
        if (c->activation) packed_activate(c->activation, at.to, p->out.column, px, c->filters);
    }
}

static void depthwise_part(void *arg, int64_t begin, int64_t end, int worker) {
    const depthwise_plan *p = arg;
    int64_t rows = p->c->out[0];
    (void)worker;
    for (int64_t i = begin; i < end; i++) depthwise_row(p, i / rows, i % rows);
}

SC_KERNEL void sc_conv_depthwise_run(sc_ctx *cx, const sc_conv *c, sc_conv_images in, sc_conv_images out, sc_conv_images add,
                                     const float *packed) {
    const float *weights = packed + packed_divide_up(c->filters, PACKED_BLOCK) * PACKED_BLOCK;
    depthwise_plan p = {.c = c, .in = in, .out = out, .add = add, .packed = packed, .weights = weights};
    depthwise_choose(&p);
    double ns = 2 * gemm_ns(c->filters, c->images * c->out[0] * c->out[1], c->kernel[0] * c->kernel[1], 4);
    sc_parallel(cx, c->images * c->out[0], 1, ns, depthwise_part, &p);
}
