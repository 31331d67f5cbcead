/* sc_conv_depthwise.c - convolutions of channels-last float images, each channel by itself, with packed weights. Results of
 * neighboring pixels, for a vector of channels, stay in registers while all terms are added. The image is not copied. */
#include "../include/sc_team.h"
#include "sc_conv_packed.h"
#include "sc_conv_tile.h"
#include "sc_gemm.h"
#include "sc_image.h"

enum { DEPTHWISE_PIXELS = 8 };

typedef struct depthwise_plan { const sc_conv *c; sc_conv_images in, out, add; const float *packed; } depthwise_plan;

/* Some neighboring results: the elements of the kernel that lie inside of the image, and where the window of the first one, the
 * result and what is added to it begin. */
typedef struct depthwise_place {
    int64_t rows[2], columns[2];
    const float *from, *add;
    float *to;
} depthwise_place;

/* Compute px results of a vector of channels. px is a constant. */
SC_INLINE void depthwise_tile(const int px, const depthwise_plan *p, const depthwise_place *at, int64_t channel) {
    const sc_conv *c = p->c;
    const float *w = p->packed + packed_divide_up(c->filters, PACKED_BLOCK) * PACKED_BLOCK + channel;
    packed_vec acc[DEPTHWISE_PIXELS];
    int64_t apart = c->stride[1] * p->in.column;
#pragma GCC unroll 8
    for (int i = 0; i < px; i++) acc[i] = packed_load(p->packed + channel);
    for (int64_t k = at->rows[0]; k < at->rows[1]; k++) {
        const float *x = at->from + k * c->dilation[0] * p->in.row + at->columns[0] * c->dilation[1] * p->in.column + channel;
        const float *weights = w + (k * c->kernel[1] + at->columns[0]) * c->filters;
        for (int64_t l = at->columns[0]; l < at->columns[1]; l++, x += c->dilation[1] * p->in.column, weights += c->filters) {
            packed_vec weight = packed_load(weights);
#pragma GCC unroll 8
            for (int i = 0; i < px; i++) acc[i] += packed_load(x + i * apart) * weight;
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < px; i++) {
        if (at->add) acc[i] += packed_load(at->add + i * p->add.column + channel);
        packed_store(at->to + i * p->out.column + channel, packed_clamp(acc[i], c->low, c->high));
    }
}

/* Compute px results of all channels, which lie side by side in memory: by columns of one vector, each line would be asked for
 * when it is needed. */
SC_INLINE void depthwise_pixels(const int px, const depthwise_plan *p, const depthwise_place *at) {
    int64_t filters = p->c->filters;
    for (int64_t f = 0; f < filters; f += PACKED_LANES)
        depthwise_tile(px, p, at, f + PACKED_LANES <= filters ? f : filters - PACKED_LANES);
}

static void depthwise_row(const depthwise_plan *p, int64_t image, int64_t y) {
    const sc_conv *c = p->c;
    int64_t top = y * c->stride[0] - c->padding[0], inner[2]; /* the columns whose windows lie inside */
    inner[0] = packed_divide_up(c->padding[1], c->stride[1]);
    inner[1] = packed_floor_divide(c->in[1] - 1 + c->padding[1] - (c->kernel[1] - 1) * c->dilation[1], c->stride[1]) + 1;
    depthwise_place at;
    image_valid(c->in[0], c->kernel[0], c->dilation[0], top, &at.rows[0], &at.rows[1]);
    for (int64_t x = 0, px; x < c->out[1]; x += px) {
        int64_t left = x * c->stride[1] - c->padding[1], whole = x >= inner[0] ? inner[1] - x : 0;
        image_valid(c->in[1], c->kernel[1], c->dilation[1], left, &at.columns[0], &at.columns[1]);
        at.from = p->in.data + image * p->in.image + top * p->in.row + left * p->in.column;
        at.to = packed_at(&p->out, image, y, x, 0), at.add = packed_at(&p->add, image, y, x, 0);
        px = whole >= 8 ? 8 : whole >= 4 ? 4 : whole >= 2 ? 2 : 1;
        switch (px) {
        case 8: depthwise_pixels(8, p, &at); break;
        case 4: depthwise_pixels(4, p, &at); break;
        case 2: depthwise_pixels(2, p, &at); break;
        default: depthwise_pixels(1, p, &at);
        }
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
    depthwise_plan p = {c, in, out, add, packed};
    double ns = 2 * gemm_ns(c->filters, c->images * c->out[0] * c->out[1], c->kernel[0] * c->kernel[1], 4);
    sc_parallel(cx, c->images * c->out[0], 1, ns, depthwise_part, &p);
}
